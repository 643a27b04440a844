package cyclonetest

import (
	"context"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// news tells that something has happened to a step. It listens between open and
// close, and counts over all of that.
type news struct {
	any  chan struct{} // has room for one
	end  context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	back map[stepName]int // how often a step was released
}

// stepName tells a step from others.
type stepName struct {
	run  cyclone.RunID
	node string
}

func newNews() *news { return &news{any: make(chan struct{}, 1), back: map[stepName]int{}} }

// telling are the events after which there may be less, or more, to wait for.
var telling = []cyclone.EventType{
	cyclone.EventEnqueued, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventSnoozed, cyclone.EventSuspended,
	cyclone.EventReleased, cyclone.EventLost, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventRetried,
	cyclone.EventPromoted, cyclone.EventRescheduled, cyclone.EventDeleted,
}

// open begins to listen. Nothing is missed after it has returned.
func (n *news) open(t testing.TB, client *queue.Client) {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	subscription, err := client.Subscribe(ctx, queue.EventFilter{Types: telling})
	if err != nil {
		end()
		t.Fatalf("cyclonetest: %v", err)
	}
	done := make(chan struct{})
	n.end, n.done = end, done
	go func() {
		defer close(done)
		for event := range subscription.Events(ctx) {
			n.tell(event)
		}
		_ = subscription.Close()
	}()
}

func (n *news) tell(event cyclone.StepEvent) {
	if event.Type == cyclone.EventReleased {
		n.mu.Lock()
		n.back[stepName{event.RunID, event.Node}]++
		n.mu.Unlock()
	}
	select {
	case n.any <- struct{}{}:
	default:
	}
}

// released is how often a step was given back.
func (n *news) released(s *cyclone.StepInfo) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.back[stepName{s.RunID, s.Node}]
}

func (n *news) close() {
	n.end()
	<-n.done
}
