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
	HandedOver                                      int // steps that were handed over to an idle worker
	Full, FullReplays, FullDrained                  int // enqueues that were refused; calls that were not

	// Runs of many steps, tasks with recorded steps, signals.
	RunsBuilt, RunsEnded, RunsFailed, NodesCompleted, NodesStopped, Revived, Reopened int
	SuspendedSteps, Recorded, Executed, Replayed                                      int // recorded steps
	Effects, RunsOfEffects, ChildRuns                                                 int // completion transactions, and runs that they begin
	Signalled, SignalsTaken, TimedOut                                                 int

	// What happens at the same time: the ends of a node's last dependencies; a
	// completion, and a cancel or the failure of another node; a signal, and the
	// timeout of the wait for it.
	FanInRaced, CancelRaced, DiscardRaced, SignalWon, TimeoutWon int

	// Calls that were answered again.
	ReplaysOfBuild, ReplaysOfAdvance, ReplaysOfSuspend, ReplaysOfSignal, ReplaysOfSweep int
	ReplaysOfRecord, ReplaysOfTake, ReplaysOfForget                                     int

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

// replayed counts a call of a script with a session that was answered again.
func (c *Coverage) replayed(script string) {
	if n := map[string]*int{
		"build": &c.ReplaysOfBuild, "advance": &c.ReplaysOfAdvance, "suspend": &c.ReplaysOfSuspend, "signal": &c.ReplaysOfSignal,
		"sweep": &c.ReplaysOfSweep,
	}[script]; n != nil {
		*n++
	}
}
