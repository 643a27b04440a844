package sim

import (
	"fmt"
	"sync"
	"time"
)

// ledger remembers every step for the whole simulation.
type ledger struct {
	mu    sync.Mutex
	runs  map[string]*record // by id
	jobs  map[string]string  // id by key of its job
	acked map[string]string  // id that an enqueue returned, by key of the job
	ops   int                // operations that were acknowledged

	ackedRuns []string // of many steps
	promises  promises
}

// record is what is known of one step.
type record struct {
	job       job
	flow      bool // a run of many steps
	state     State
	ended     int       // times it was completed, discarded or cancelled
	completed int       // of these
	dropped   time.Time // when it was cancelled, deleted or purged
	claimed   time.Time
	over      time.Time // when it last ended
	reopened  time.Time // when an operator, or a repair, opened it again
	removed   string    // script that removed its body
	lostCode  bool      // it was discarded with attempt_lost
}

func newLedger() *ledger {
	return &ledger{runs: map[string]*record{}, jobs: map[string]string{}, acked: map[string]string{}, promises: newPromises()}
}

// done counts an operation that was acknowledged.
func (l *ledger) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops++
}

// ack notes that an enqueue has returned an id for a job.
func (l *ledger) ack(key, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops++
	l.acked[key] = id
}

// ids lists the steps whose state is such.
func (l *ledger) ids(such func(State) bool) (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, r := range l.runs {
		if such(r.state) {
			list = append(list, id)
		}
	}
	return list
}

// unfinished describes the steps that have not ended.
func (l *ledger) unfinished() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, r := range l.runs {
		if unfinished(r.state) {
			list = append(list, fmt.Sprintf("%s is %v (%v)", id, r.state, r.job))
		}
	}
	return list
}

func unfinished(s State) bool { return s != Absent && !s.Ended() }
func whatever(State) bool     { return true }
