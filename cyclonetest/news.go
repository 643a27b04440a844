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
	back map[cyclone.RunID]int // how often a step was released
}

func newNews() *news { return &news{any: make(chan struct{}, 1), back: map[cyclone.RunID]int{}} }

// telling are the events after which there may be less, or more, to wait for.
var telling = []cyclone.EventType{
	cyclone.EventEnqueued, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventSnoozed, cyclone.EventReleased,
	cyclone.EventLost, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventRetried, cyclone.EventPromoted,
	cyclone.EventRescheduled, cyclone.EventDeleted,
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
		n.back[event.RunID]++
		n.mu.Unlock()
	}
	select {
	case n.any <- struct{}{}:
	default:
	}
}

// released is how often a run was given back.
func (n *news) released(id cyclone.RunID) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.back[id]
}

func (n *news) close() {
	n.end()
	<-n.done
}
