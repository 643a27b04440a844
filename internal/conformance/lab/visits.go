package lab

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Visits records how handlers were entered.
type Visits struct {
	lab *Lab
	mu  sync.Mutex
	all []Visit
}

// Visit is one entry of a handler.
type Visit struct {
	RunID   cyclone.RunID
	Attempt int
	At      time.Time // local
}

// Visits returns a new record.
func (l *Lab) Visits() *Visits { return &Visits{lab: l} }

// Add notes that a handler was entered; it returns how often this step's was,
// this time included.
func (v *Visits) Add(ctx cyclone.Context) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = append(v.all, Visit{RunID: ctx.RunID(), Attempt: ctx.Attempt(), At: time.Now()})
	n := 0
	for _, visit := range v.all {
		if visit.RunID == ctx.RunID() {
			n++
		}
	}
	return n
}

// All returns the visits so far.
func (v *Visits) All() []Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.all)
}

// Attempts returns the ordinals that handlers saw, in order.
func (v *Visits) Attempts() []int {
	var list []int
	for _, visit := range v.All() {
		list = append(list, visit.Attempt)
	}
	return list
}

// Runs returns the runs whose handlers were entered, in order.
func (v *Visits) Runs() []cyclone.RunID {
	var list []cyclone.RunID
	for _, visit := range v.All() {
		list = append(list, visit.RunID)
	}
	return list
}

// Gaps returns the times between one visit and the next.
func (v *Visits) Gaps() []time.Duration {
	all := v.All()
	var list []time.Duration
	for i := 1; i < len(all); i++ {
		list = append(list, all[i].At.Sub(all[i-1].At))
	}
	return list
}

// Until waits until there were n visits.
func (v *Visits) Until(n int) {
	v.lab.Helper()
	v.lab.Until(fmt.Sprintf("%d handlers are entered", n), func() bool { return len(v.All()) >= n })
}
