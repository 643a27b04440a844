package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/cyclone-queue/cyclone"
)

// ErrLagged is yielded by [Subscription.Events] where events are missing: the
// reader was too slow, or the connection was lost for a while. The subscription
// goes on.
var ErrLagged = errors.New("queue: subscription missed events")

// subscriptionBuffer is how many events wait for a slow reader.
const subscriptionBuffer = 4096

// EventFilter chooses events. Empty fields match everything.
type EventFilter struct {
	RunID  cyclone.RunID
	Queues []string
	Kinds  []string
	Types  []cyclone.EventType
}

func (f *EventFilter) matches(e *cyclone.StepEvent) bool {
	return f.mayMatch(e) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind))
}

// mayMatch is matches for an event whose kind is not known yet.
func (f *EventFilter) mayMatch(e *cyclone.StepEvent) bool {
	return (f.RunID == 0 || f.RunID == e.RunID) &&
		(len(f.Queues) == 0 || slices.Contains(f.Queues, e.Queue)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, e.Type))
}

// Subscription receives events of all processes. One goroutine at a time reads it
// with Events; Close may be called from any.
type Subscription struct {
	l      *listener
	filter EventFilter
	wake   chan struct{} // has room for one
	done   chan struct{} // closed by Close
	once   sync.Once

	mu      sync.Mutex
	queue   []received
	lagging bool // the last thing in queue, or in the reader's hands, is a lag
}

// received is an event or, without one, a place where some are missing.
type received struct {
	event cyclone.StepEvent
	err   error
}

// Subscribe returns a subscription that gets every matching event from now on: it
// is in place on all partitions when Subscribe returns. Events cost a publish per
// transition batch while anybody subscribes and nothing otherwise.
//
// Events arrive in the order in which they happened, as far as they are of one
// step; they are delivered at most once, see [ErrLagged]. What happened before
// must be looked up. An event of a step that is gone when it is looked at may
// lack kind and node.
func (c *Client) Subscribe(ctx context.Context, filter EventFilter) (*Subscription, error) {
	filter.Queues, filter.Kinds = slices.Clone(filter.Queues), slices.Clone(filter.Kinds)
	filter.Types = slices.Clone(filter.Types)
	s := &Subscription{l: &c.listen, filter: filter, wake: make(chan struct{}, 1), done: make(chan struct{})}
	s.l.use()
	h, err := s.l.hear(ctx)
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("queue: subscribe: %w", err)
	}
	h.barrier(ctx) // what was published before is for others
	s.l.add(s)
	return s, nil
}

// Close ends the subscription and Events.
func (s *Subscription) Close() error {
	s.once.Do(func() {
		close(s.done)
		s.l.leave(func() { delete(s.l.subs, s) })
	})
	return nil
}

// Events yields the events, and [ErrLagged] where some are missing. It ends when
// the subscription is closed, and after yielding ctx's error when ctx is done or
// [ErrClosed] when the client is closed. Ranging over it again goes on.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[cyclone.StepEvent, error] {
	return func(yield func(cyclone.StepEvent, error) bool) {
		for {
			if r, ok := s.pop(); ok {
				if !yield(r.event, r.err) {
					return
				}
				continue
			}
			select {
			case <-s.wake:
			case <-s.done:
				return
			case <-ctx.Done():
				yield(cyclone.StepEvent{}, ctx.Err())
				return
			case <-s.l.client.life.Done():
				yield(cyclone.StepEvent{}, ErrClosed)
				return
			}
		}
	}
}

func (s *Subscription) pop() (r received, ok bool) {
	select {
	case <-s.done:
		return r, false
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return r, false
	}
	r = s.queue[0]
	s.queue[0] = received{}
	s.queue = s.queue[1:]
	return r, true
}

// clear drops what waits for the reader.
func (s *Subscription) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = nil
}

// push never blocks: what does not fit is dropped, and the place is marked.
func (s *Subscription) push(e cyclone.StepEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= subscriptionBuffer {
		s.mark()
		return
	}
	s.lagging = false
	s.add(received{event: e})
}

// lag marks a place where events may be missing.
func (s *Subscription) lag() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark()
}

func (s *Subscription) mark() {
	if !s.lagging {
		s.lagging = true
		s.add(received{err: ErrLagged})
	}
}

func (s *Subscription) add(r received) {
	s.queue = append(s.queue, r)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
