package faults_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
)

// ledger is what all processes' handlers did.
type ledger struct {
	t  testing.TB
	mu sync.Mutex
	by map[cyclone.RunID][]entry
}

type entry struct {
	line
	pid int
}

func newLedger(t testing.TB) *ledger { return &ledger{t: t, by: make(map[cyclone.RunID][]entry)} }

// add takes a line of a process. The last one of a process that was killed may be
// cut short.
func (l *ledger) add(pid int, text []byte) {
	e := entry{pid: pid}
	if err := json.Unmarshal(text, &e.line); err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[e.RunID] = append(l.by[e.RunID], e)
}

// of returns what was done for a run, in the order of the processes' one clock:
// their lines may arrive in another.
func (l *ledger) of(id cyclone.RunID) []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.by[id])
	slices.SortStableFunc(all, func(a, b entry) int { return a.At.Compare(b.At) })
	return all
}

// starts returns how often handlers were entered for a run.
func (l *ledger) starts(id cyclone.RunID) (n int) {
	for _, e := range l.of(id) {
		if e.Event == "start" {
			n++
		}
	}
	return n
}

// says tells whether a handler has said something of a run.
func (l *ledger) says(id cyclone.RunID, event string) bool {
	return slices.ContainsFunc(l.of(id), func(e entry) bool { return e.Event == event })
}

// executions returns how often handlers were entered.
func (l *ledger) executions() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.by {
		for _, e := range all {
			if e.Event == "start" {
				n++
			}
		}
	}
	return n
}

// count returns how often handlers said something of their recorded steps.
func (l *ledger) count(event string, replayed bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.by {
		for _, e := range all {
			if e.Event == event && e.Replayed == replayed {
				n++
			}
		}
	}
	return n
}

// check returns what is wrong with what was done for a run that has completed: it
// succeeded, after as many failures as were asked for and in ascending attempts.
func (l *ledger) check(id cyclone.RunID, fails int) error {
	all := l.of(id)
	succeeded, last := false, 0
	for _, e := range all {
		succeeded = succeeded || e.Event == "end" && e.Error == ""
		if e.Event != "start" {
			continue
		}
		if e.Attempt < 1 || e.Attempt < last-1 {
			return fmt.Errorf("run %v: attempt %d started after attempt %d", id, e.Attempt, last)
		}
		last = max(last, e.Attempt)
	}
	if !succeeded {
		return fmt.Errorf("run %v is completed, and no handler succeeded: %+v", id, all)
	}
	if last <= fails {
		return fmt.Errorf("run %v: %d attempts, and %d failed", id, last, fails)
	}
	return nil
}
