package queue

import (
	"sync"

	"github.com/cyclone-queue/cyclone"
)

// firsts keeps the order of a step's events in the process that both enqueues and
// works: a worker may hear of its claim before the enqueue's own answer is read.
// What is told of a step whose enqueue is under way waits for that.
type firsts struct {
	mu   sync.Mutex
	held map[cyclone.RunID][]cyclone.StepEvent
}

// expect begins to hold the events of these steps.
func (f *firsts) expect(ids []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = make(map[cyclone.RunID][]cyclone.StepEvent)
	}
	for _, id := range ids {
		f.held[cyclone.RunID(id)] = nil
	}
}

// hold keeps the event if it has to wait.
func (f *firsts) hold(e cyclone.StepEvent) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, ok := f.held[e.RunID]
	if ok {
		f.held[e.RunID] = append(events, e)
	}
	return ok
}

// release passes on what was held of these steps. What comes meanwhile goes behind.
func (f *firsts) release(ids []int64, tell func(cyclone.StepEvent)) {
	for _, id := range ids {
		for {
			f.mu.Lock()
			events := f.held[cyclone.RunID(id)]
			if len(events) == 0 {
				delete(f.held, cyclone.RunID(id))
				f.mu.Unlock()
				break
			}
			f.held[cyclone.RunID(id)] = nil
			f.mu.Unlock()
			for _, e := range events {
				tell(e)
			}
		}
	}
}
