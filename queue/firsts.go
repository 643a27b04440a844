package queue

import (
	"sync"

	"github.com/cyclone-queue/cyclone"
)

// firsts keeps the order of a step's events in the process that both lets it start
// and works: a worker may hear of its claim before the answer is read of the call that
// has enqueued or released it. What is told of such a step while a call is under way
// waits for that.
type firsts struct {
	mu   sync.Mutex
	held map[starter]*heldEvents
}

// starter is a step that a call may let start, a whole run without a node.
type starter struct {
	run  cyclone.RunID
	node string
}

type heldEvents struct {
	calls  int // that are under way
	events []cyclone.StepEvent
}

// startersOf are whole runs.
func startersOf(ids []int64) []starter {
	out := make([]starter, len(ids))
	for i, id := range ids {
		out[i].run = cyclone.RunID(id)
	}
	return out
}

// expect begins to hold the events of these steps. It may be called for one step by
// several.
func (f *firsts) expect(steps []starter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = make(map[starter]*heldEvents)
	}
	for _, s := range steps {
		if f.held[s] == nil {
			f.held[s] = new(heldEvents)
		}
		f.held[s].calls++
	}
}

// hold keeps the event if it has to wait.
func (f *firsts) hold(e cyclone.StepEvent) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.held[starter{run: e.RunID}]
	if h == nil {
		h = f.held[starter{e.RunID, e.Node}]
	}
	if h != nil {
		h.events = append(h.events, e)
	}
	return h != nil
}

// release passes on what was held of these steps, unless another call still holds it.
// What comes meanwhile goes behind.
func (f *firsts) release(steps []starter, tell func(cyclone.StepEvent)) {
	for _, s := range steps {
		for events := f.next(s); len(events) > 0; events = f.next(s) {
			for _, e := range events {
				tell(e)
			}
		}
	}
}

// next takes what is to be passed on of a step now; nothing ends the call's hold.
func (f *firsts) next(s starter) []cyclone.StepEvent {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.held[s]
	if h.calls == 1 && len(h.events) > 0 {
		events := h.events
		h.events = nil
		return events
	}
	if h.calls--; h.calls == 0 {
		delete(f.held, s)
	}
	return nil
}
