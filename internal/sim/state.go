package sim

import "github.com/cyclone-queue/cyclone/internal/model"

// State is where a step is, or a run of many steps as a whole.
type State uint8

// The states. Those of a single step are the model's and, of a task that waits,
// Suspended. Blocked is a node whose dependencies have not ended; it is in no index.
// Going is a run of many steps that has not ended.
const (
	Absent State = iota
	Scheduled
	Retrying
	Snoozed
	Suspended
	Ready
	Running
	Blocked
	Going
	Completed
	Discarded
	Cancelled
)

var stateNames = [...]string{
	"absent", "scheduled", "retrying", "snoozed", "waiting", "ready", "running", "blocked", "going", "completed", "discarded", "cancelled",
}

func (s State) String() string { return stateNames[s] }

// Waiting tells that the step waits for its time.
func (s State) Waiting() bool { return s >= Scheduled && s <= Suspended }

// Ended tells that it is finished, for good but for an operator.
func (s State) Ended() bool { return s >= Completed }

// What a former life of a step has left behind, see package model.
const (
	Nothing = model.Nothing
	InReady = model.InReady
	InLease = model.InLease
)
