package cyclonetest

import (
	"context"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// news tells that something has happened to a step.
type news struct {
	any  chan struct{} // has room for one
	end  context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	back map[cyclone.RunID]int // how often a step was released
}

// listen is in place when it returns.
func listen(t testing.TB, client *queue.Client) *news {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	subscription, err := client.Subscribe(ctx, queue.EventFilter{Types: []cyclone.EventType{
		cyclone.EventEnqueued, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventSnoozed, cyclone.EventReleased,
		cyclone.EventLost, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventRetried, cyclone.EventPromoted,
		cyclone.EventRescheduled, cyclone.EventDeleted,
	}})
	if err != nil {
		end()
		t.Fatalf("cyclonetest: %v", err)
	}
	n := &news{any: make(chan struct{}, 1), end: end, done: make(chan struct{}), back: map[cyclone.RunID]int{}}
	go func() {
		defer close(n.done)
		for event := range subscription.Events(ctx) {
			n.tell(event)
		}
		_ = subscription.Close()
	}()
	return n
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
