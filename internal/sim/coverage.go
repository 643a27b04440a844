package sim

import (
	"fmt"
	"reflect"
)

// Coverage counts what a simulation has reached.
type Coverage struct {
	Commands, Enqueued, Claimed, Completed, Discarded, Cancelled, Deleted, Retried int

	// The network's.
	LostRequests, LateRequests, LostReplies, Duplicates, Crashes, Freezes, Errors, Flushes, Jumps int

	// The five riskiest points: scripts that failed, with nothing written; late
	// duplicates; ghosts; poison and marks of a start; a full server.
	Failed                                          int
	Replays, Stale, NoSession, Gaps                 int
	GhostsOfReady, GhostsOfSettled, GhostsOfReaped  int
	GhostsTurned                                    int // by a retry
	LostStarted, LostUnstarted, Poisoned, Confirmed int
	Full, FullReplays, FullDrained                  int // enqueues that were refused; calls that were not

	RefusedLost, RefusedCancelled, Conflicts, Replaced, Overtaken int
}

// Add adds another's counts.
func (c *Coverage) Add(o *Coverage) {
	a, b := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for i := range a.NumField() {
		a.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
	}
}

// Missing names the counts that are zero.
func (c *Coverage) Missing() (names []string) {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if v.Field(i).Int() == 0 {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

// String lists the counts.
func (c *Coverage) String() string {
	text, v := "", reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		text += fmt.Sprintf("%s %d, ", v.Type().Field(i).Name, v.Field(i).Int())
	}
	return text[:len(text)-2]
}
