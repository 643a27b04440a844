package demo

import (
	"slices"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// tally is what the events add up to. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	start   time.Time
	steps   map[stepKey]*step
	names   map[cyclone.RunID]nodeName
	kinds   map[string]*kindTally
	workers map[string]*workerTally
	starts  []time.Duration // enqueue → claim of steps that were ready at once
	finish  []int           // completions by second
	missed  int             // times that events were missing
	runs    int             // of many steps that have ended

	killedAt time.Time
	taken    []time.Duration // kill → claim by another worker
}

// stepKey names a step: a run of many has several.
type stepKey struct {
	run  cyclone.RunID
	node string
}

// nodeName is the node of a run, the first of them when there are many.
type nodeName struct {
	node, kind string
	many       bool
}

// step is one step that is not completed.
type step struct {
	id       stepKey
	state    cyclone.StepState
	ready    time.Time // when it was enqueued as ready
	worker   string
	attempt  int
	lost     bool
	retried  bool
	failures int
}

// kindTally counts for one kind.
type kindTally struct {
	Enqueued  int `json:"enqueued"`
	Completed int `json:"completed"`
	Failed    int `json:"failed_attempts"`
	Recovered int `json:"recovered"` // completed after a failed attempt
	Snoozed   int `json:"snoozes"`
	Lost      int `json:"lost"`
	Discarded int `json:"discarded"` // as of now
	Retried   int `json:"retried"`
	Repaired  int `json:"repaired"` // completed after an operator's retry
	now       map[cyclone.StepState]int
}

// workerTally is one worker process.
type workerTally struct {
	id      string
	running map[stepKey]string // step → kind
	done    int
}

func newTally(start time.Time) *tally {
	t := &tally{start: start, steps: map[stepKey]*step{}, names: map[cyclone.RunID]nodeName{}, kinds: map[string]*kindTally{}, workers: map[string]*workerTally{}}
	for _, kind := range kinds {
		t.kind(kind)
	}
	return t
}

func (t *tally) kind(name string) *kindTally {
	k := t.kinds[name]
	if k == nil {
		k = &kindTally{now: map[cyclone.StepState]int{}}
		t.kinds[name] = k
	}
	return k
}

func (t *tally) worker(id string) *workerTally {
	w := t.workers[id]
	if w == nil {
		w = &workerTally{id: id, running: map[stepKey]string{}}
		t.workers[id] = w
	}
	return w
}

// add counts an event and returns what the step was before it.
func (t *tally) add(e cyclone.StepEvent) (before step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == cyclone.EventFinished { // a run of many steps
		t.runs++
		return step{}
	}
	if !t.named(&e) {
		return step{}
	}
	k, id := t.kind(e.Kind), stepKey{e.RunID, e.Node}
	s := t.steps[id]
	if s == nil {
		s = &step{id: id}
		t.steps[id] = s
		if e.Type != cyclone.EventEnqueued { // of an earlier demo
			k.Enqueued++
		}
	}
	before = *s
	t.move(k, s, e)
	switch e.Type {
	case cyclone.EventEnqueued:
		k.Enqueued++
		if e.State == cyclone.StepReady {
			s.ready = e.At
		}
	case cyclone.EventClaimed:
		t.claimed(s, e)
	case cyclone.EventCompleted:
		t.completed(k, s, e)
	case cyclone.EventFailed:
		k.Failed++
		s.failures++
	case cyclone.EventSnoozed:
		k.Snoozed++
	case cyclone.EventLost:
		k.Lost++
		s.lost = true
	case cyclone.EventRetried:
		k.Retried++
		s.retried = true
	}
	return before
}

// named fills in the node and the kind, which an event of a step that was gone when
// it was looked at lacks. It returns false when the run has several nodes.
func (t *tally) named(e *cyclone.StepEvent) bool {
	known := t.names[e.RunID]
	switch {
	case e.Node != "":
		if known.node != "" && known.node != e.Node {
			known.many = true
		} else {
			known = nodeName{node: e.Node, kind: e.Kind, many: known.many}
		}
		t.names[e.RunID] = known
	case known.many:
		return false
	case known.node != "":
		e.Node, e.Kind = known.node, known.kind
	}
	return true
}

// move changes the step's state and who runs it.
func (t *tally) move(k *kindTally, s *step, e cyclone.StepEvent) {
	if s.state == cyclone.StepRunning {
		if w := t.workers[s.worker]; w != nil {
			delete(w.running, s.id)
		}
	}
	switch {
	case s.state == cyclone.StepExhausted:
		k.Discarded--
	case s.state != "":
		k.now[s.state]--
	}
	s.state, s.attempt, s.worker = e.State, e.Attempt, e.Worker
	switch {
	case s.state == cyclone.StepExhausted:
		k.Discarded++
	case s.state.Finished() || e.Type == cyclone.EventDeleted:
		delete(t.steps, s.id)
	default:
		k.now[s.state]++
	}
}

func (t *tally) claimed(s *step, e cyclone.StepEvent) {
	t.worker(e.Worker).running[s.id] = e.Kind
	if s.lost && !t.killedAt.IsZero() {
		t.taken = append(t.taken, e.At.Sub(t.killedAt))
	}
	if !s.ready.IsZero() {
		t.starts = append(t.starts, max(e.At.Sub(s.ready), 0))
		s.ready = time.Time{}
	}
}

func (t *tally) completed(k *kindTally, s *step, e cyclone.StepEvent) {
	k.Completed++
	if s.failures > 0 && !s.retried {
		k.Recovered++
	}
	if s.retried {
		k.Repaired++
	}
	if w := t.workers[e.Worker]; w != nil {
		w.done++
	}
	second := int(e.At.Sub(t.start) / time.Second)
	for second >= 0 && len(t.finish) <= second {
		t.finish = append(t.finish, 0)
	}
	if second >= 0 {
		t.finish[second]++
	}
}

// killed notes when a worker process was killed.
func (t *tally) killed(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killedAt = at
}

// unfinished is the number of steps that still have something to come.
func (t *tally) unfinished() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, s := range t.steps {
		if !s.state.Finished() {
			n++
		}
	}
	return n
}

// runningOn returns the number of steps that a worker has under way.
func (t *tally) runningOn(worker string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.workers[worker]; w != nil {
		return len(w.running)
	}
	return 0
}

// missedSome notes that events were missing: the counts are not exact any more.
func (t *tally) missedSome() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missed++
}

// percentiles of the time from enqueue to claim. The mutex is held.
func (t *tally) percentiles() (median, most time.Duration) {
	if len(t.starts) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(t.starts))
	// Event times are in whole milliseconds: 0 means within the first one.
	return max(sorted[len(sorted)/2], time.Millisecond), max(sorted[len(sorted)*95/100], time.Millisecond)
}
