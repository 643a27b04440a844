package luascripts

import "strings"

// Sweep is the script that applies what is planned for runs of many steps.
var Sweep = load("sweep")

// SweepKeys are the fixed keys of Sweep.
type SweepKeys struct {
	Steps, Sess, Ghosts, Tries, Uniq, UniqOf, UniqX, History, Stats, Subs, Paused, Sweep, Runs string
}

// SweepQueue is one queue with nodes that a call concerns.
type SweepQueue struct {
	Name                                                      string
	Scheduled, Retrying, Snoozed, Waiting, Discarded, Waiters string
	Ready                                                     [3]string
}

// SweepAct is what an operation does.
type SweepAct string

// The operations on a node. Each has a guard: where it does not hold, the
// operation does nothing and its run is reported as [SweepStale].
const (
	// SweepCancel ends a live node as To. Guard: it neither ended nor is blocked.
	SweepCancel SweepAct = "c"
	// SweepDrop ends a blocked node as To. Guard: it is blocked.
	SweepDrop SweepAct = "b"
	// SweepCount sets the dependencies that a blocked node waits for to To. Guard: they
	// are Was, or nothing behind it is done for this run.
	SweepCount SweepAct = "d"
	// SweepRelease makes a blocked node start at Due. Guard: it is blocked with the count Was.
	SweepRelease SweepAct = "r"
	// SweepRevive makes a cancelled node live again, or blocked with the count To when that
	// is not "". Guard: it ended as Was, and has a body.
	SweepRevive SweepAct = "v"
	// SweepReopen makes a discarded node ready again, with the attempt limit Limit and
	// Note in its history. Guard: it ended as Was, and has a body.
	SweepReopen SweepAct = "o"
)

// The operations on a run. Node, Queue and Lane mean nothing to them.
const (
	// SweepState moves the run's state from Was to To. Guard: it is Was.
	SweepState SweepAct = "s"
	// SweepStop cancels the run: the sweep has to end its nodes. Its generation goes up.
	// Guard: its state is r or F.
	SweepStop SweepAct = "x"
	// SweepAgain opens a run again, whatever has become of it: its state is r, its
	// generation goes up, it holds its unique key To ("" for none) and the sweep has to look at it.
	// Guard: its state is Was; nobody else holds the key, or nothing else is done for this run.
	SweepAgain SweepAct = "a"
	// SweepFinish ends the run as To. Guard: no node is left, and its state is Was.
	SweepFinish SweepAct = "f"
	// SweepPlan puts the run on the sweep.
	SweepPlan SweepAct = "p"
)

// SweepOp is one operation.
type SweepOp struct {
	Act         SweepAct
	Node        int
	Queue, Lane int    // indexes from 0
	Was, To     string // see the operation
	Due         string // "" now, "+ms" from now, or ms since 1970
	Limit       int    // absolute attempt limit, 0 to leave it
	Note        string // a line of the history, without its time
}

// SweepRun are the operations on one run, done in their order.
type SweepRun struct {
	Key string // of its hash
	ID  string
	Gen int // the generation that the plan was made for, 0 where none is stored
	// Score is that of the run's item as [SweepItem] had it: when every operation
	// was done and the item is unchanged, it leaves the sweep, or stays for the
	// run's deadline. "" leaves it alone.
	Score string
	// KeepMS holds the item for that long from now instead, if it is unchanged: there
	// is more to do. 0 for no.
	KeepMS int64
	Ops    []SweepOp
}

// SweepInput is what a call of Sweep carries.
type SweepInput struct {
	Session   Session
	Channels  Channels
	Partition int
	Detail    []byte // of the operations, in the order of the call
	// Take asks for up to as many items that are due. They are not due for others
	// for the next HoldMS.
	Take   int
	HoldMS int64
	// Listens asks for the events too.
	Listens bool
	// Done are items other than runs that are settled: they leave the sweep if
	// their score is unchanged.
	Done []SweepItem
	// Put are items that come onto the sweep with their scores, before the operations
	// and what is taken; it has room for them at maxmemory.
	Put    []SweepPut
	Queues []SweepQueue
	Runs   []SweepRun
}

// SweepItem is one piece of work with its score, by which its taker holds it.
type SweepItem struct{ Item, Score string }

// SweepPut is an item to put on the sweep; New leaves one that is there as it is.
type SweepPut struct {
	SweepItem
	New bool
}

// SweepCall fills c.
func SweepCall(c *Call, k *SweepKeys, in *SweepInput) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Tries, k.Uniq, k.UniqOf, k.UniqX, k.History, k.Stats, k.Subs, k.Paused, k.Sweep, k.Runs)
	for i := range in.Queues {
		q := &in.Queues[i]
		c.Keys = append(c.Keys, q.Scheduled, q.Retrying, q.Snoozed, q.Waiting, q.Discarded, q.Waiters, q.Ready[0], q.Ready[1], q.Ready[2])
	}
	for i := range in.Runs {
		c.Keys = append(c.Keys, in.Runs[i].Key)
	}
	c.arg(in.Session.Lane, in.Session.Seq, in.Channels.Wake, in.Channels.Events, in.Channels.Cancels,
		in.Partition, in.Detail, in.Take, in.HoldMS, in.Listens, len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
	c.arg(len(in.Done))
	for _, item := range in.Done {
		c.arg(item.Item, item.Score)
	}
	c.arg(len(in.Put))
	for _, item := range in.Put {
		c.arg(item.Item, item.Score, item.New)
	}
	c.arg(len(in.Runs))
	for i := range in.Runs {
		r := &in.Runs[i]
		c.arg(r.ID, r.Gen, r.Score, r.KeepMS, len(r.Ops))
		for o := range r.Ops {
			op := &r.Ops[o]
			c.arg(string(op.Act), op.Node, op.Queue+1, op.Lane+1, op.Was, op.To, op.Due, op.Limit, op.Note)
		}
	}
}

// What became of the operations on a run.
const (
	SweepDone     = "done"     // all of them
	SweepStale    = "stale"    // some at the most: plan again
	SweepTaken    = "taken"    // all, and the item is somebody else's by now: leave the rest to them
	SweepAbsent   = "absent"   // there is no such run
	SweepConflict = "conflict" // none from SweepAgain on: somebody else holds the unique key
)

// SweepOutcome is the answer for one run of a call.
type SweepOutcome struct {
	Outcome string
	Holder  string // of SweepConflict
}

// SweepReply is the answer of a call whose status is OK.
type SweepReply struct {
	NowMS    int64
	Outcomes []SweepOutcome // one for each of SweepInput.Runs
	Taken    []SweepItem
	Lines    string // of the events, "" for none or where nobody listens
}

// ParseSweep reads a reply.
func ParseSweep(reply []any) SweepReply {
	out := SweepReply{NowMS: Now(reply), Lines: text(reply, 4)}
	for _, word := range texts(list(reply, 2)) {
		outcome, holder, _ := strings.Cut(word, "=")
		out.Outcomes = append(out.Outcomes, SweepOutcome{outcome, holder})
	}
	taken := texts(list(reply, 3))
	for i := 0; i+1 < len(taken); i += 2 {
		out.Taken = append(out.Taken, SweepItem{taken[i], taken[i+1]})
	}
	return out
}
