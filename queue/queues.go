package queue

import (
	"time"

	"github.com/cyclone-queue/cyclone"
)

// QueueInfo is what can be seen of a queue from outside.
type QueueInfo struct {
	Name   string
	Paused bool
	// Counts has the number of steps by state; a state without steps is left out.
	Counts map[cyclone.StepState]int64
	// OldestReady is how long the step that is next in line has been enqueued, 0
	// when none is ready.
	OldestReady time.Duration
}
