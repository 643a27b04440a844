package queue

import (
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Filter chooses steps for an operation on many. Empty fields match everything.
type Filter struct {
	Queue string
	State cyclone.StepState
	Kind  string
	// ErrorContains matches the text of the last failure, or its code.
	ErrorContains string
	// After and Before bound, After included, the time when a step ended; for one
	// that has not, the time when it was enqueued.
	After, Before time.Time
	// Cursor goes on where an operation stopped: Cursor of its [Progress].
	Cursor string
}

// Progress tells how far an operation on many steps has come.
type Progress struct {
	// Seen is the number of steps looked at, Matched of those that the filter
	// chose, Done of those changed.
	Seen, Matched, Done int
	// Cursor is where to go on, "" when there is no more.
	Cursor string
}
