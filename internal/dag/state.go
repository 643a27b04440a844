package dag

import "strconv"

// RunMark is how a run stands, as it is stored.
type RunMark byte

// The marks of a run.
const (
	RunRunning    RunMark = 'r'
	RunFailing    RunMark = 'F' // a failure that is not contained; the rest is being cancelled
	RunCancelling RunMark = 'X' // an operator's cancel; the rest is being cancelled
	RunCompleted  RunMark = 'c'
	RunFailed     RunMark = 'f'
	RunCancelled  RunMark = 'x'
)

// Ended reports whether the run has ended.
func (m RunMark) Ended() bool { return m == RunCompleted || m == RunFailed || m == RunCancelled }

// Mark is how a node has ended. The zero Mark is a node that has not.
type Mark byte

// The marks of a node. A cancelled node remembers whether it had been released,
// so that it can be revived exactly.
const (
	MarkNone              Mark = iota
	MarkCompleted              // c<attempt>
	MarkDiscarded              // d
	MarkDroppedReleased        // XR: cancelled because of a failure; it had been released
	MarkDroppedBlocked         // XB: cancelled because of a failure; it was blocked
	MarkCancelledReleased      // xR: cancelled by an operator, or with the run; it had been released
	MarkCancelledBlocked       // xB: cancelled by an operator, or with the run; it was blocked
)

// Dropped reports whether the node was cancelled because of a failure elsewhere,
// so that it can come back.
func (m Mark) Dropped() bool { return m == MarkDroppedReleased || m == MarkDroppedBlocked }

// Failed reports whether the node itself is a failure: discarded, or cancelled
// by an operator.
func (m Mark) Failed() bool {
	return m == MarkDiscarded || m == MarkCancelledReleased || m == MarkCancelledBlocked
}

// Text returns the mark as it is stored. attempt is that of a completed node.
func (m Mark) Text(attempt int) string {
	if m == MarkCompleted {
		return "c" + strconv.Itoa(attempt)
	}
	return markTexts[min(m, MarkCancelledBlocked)]
}

var markTexts = [...]string{
	MarkNone: "", MarkCompleted: "c", MarkDiscarded: "d",
	MarkDroppedReleased: "XR", MarkDroppedBlocked: "XB",
	MarkCancelledReleased: "xR", MarkCancelledBlocked: "xB",
}

// ParseMark reads what Text writes; ok is false for anything else. The empty
// text is the mark of a node that has not ended.
func ParseMark(text string) (m Mark, attempt int, ok bool) {
	if len(text) > 1 && text[0] == 'c' {
		attempt, err := strconv.Atoi(text[1:])
		if err != nil || attempt < 1 || MarkCompleted.Text(attempt) != text {
			return MarkNone, 0, false
		}
		return MarkCompleted, attempt, true
	}
	for m, known := range markTexts {
		if known == text && Mark(m) != MarkCompleted {
			return Mark(m), 0, true
		}
	}
	return MarkNone, 0, false
}

// NodeState is how one node stands. The zero NodeState is a live node: it has
// been released and is in an index of its queue, or leased.
type NodeState struct {
	Ended   Mark // MarkNone: blocked or live
	Attempt int  // of a completed node
	Blocked bool // waits for dependencies; nothing when it has ended
	Left    int  // of a blocked node: the dependencies that have not ended
	NoBody  bool // the step's body is gone; nothing when it is completed or a failure
}

// State is how a run stands. Nodes has one entry for each node of the graph.
type State struct {
	Run     RunMark
	Nodes   []NodeState
	Overdue bool // the run's deadline has passed, and counts: a failure of the run itself
	// Generation grows with each reopening and cancelling, Sweeps with each request
	// for a sweep. Plan does not look at them; they guard what is made of its answer.
	Generation, Sweeps int64
}
