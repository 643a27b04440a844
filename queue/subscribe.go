package queue

import (
	"errors"

	"github.com/cyclone-queue/cyclone"
)

// ErrLagged is yielded by [Subscription.Events] where events are missing: the
// reader was too slow, or the connection was lost for a while. The subscription
// goes on.
var ErrLagged = errors.New("queue: subscription missed events")

// EventFilter chooses events. Empty fields match everything.
type EventFilter struct {
	RunID  cyclone.RunID
	Queues []string
	Kinds  []string
	Types  []cyclone.EventType
}

// Subscription receives events. Read it with Events and close it when done.
type Subscription struct{}
