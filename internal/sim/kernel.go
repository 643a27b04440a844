package sim

import (
	"container/heap"
	"sync"
	"testing/synctest"
	"time"
)

// kernel runs events at their virtual times, one after another. After each it
// waits until all goroutines of the bubble are blocked, so that every event is
// finished with all that it causes at its instant before the next begins.
type kernel struct {
	mu     sync.Mutex
	events events
	poke   chan struct{} // an event came that may be the first
	quit   chan struct{}
	done   chan struct{}
	after  func() // called between events
}

// event is something that happens at a time. Those of one instant follow the order
// of their keys, which no scheduling decides.
type event struct {
	at  time.Time
	key uint64
	run func()
}

func newKernel(after func()) *kernel {
	return &kernel{poke: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), after: after}
}

// at plans an event. Any goroutine may call it.
func (k *kernel) at(t time.Time, key uint64, run func()) {
	k.mu.Lock()
	heap.Push(&k.events, event{t, key, run})
	k.mu.Unlock()
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// in plans an event after a time.
func (k *kernel) in(d time.Duration, key uint64, run func()) { k.at(time.Now().Add(d), key, run) }

// run runs events until stop.
func (k *kernel) run() {
	defer close(k.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		e, wait := k.next()
		if e != nil {
			e.run()
			synctest.Wait()
			k.after()
			continue
		}
		timer.Reset(wait)
		select {
		case <-k.quit:
			return
		case <-k.poke:
		case <-timer.C:
		}
	}
}

func (k *kernel) stop() {
	close(k.quit)
	<-k.done
}

// next takes the event that is due, or tells how long to wait for one.
func (k *kernel) next() (*event, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.events) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(k.events[0].at); wait > 0 {
		return nil, wait
	}
	e := heap.Pop(&k.events).(event)
	return &e, 0
}

// events is a heap.
type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].key < h[j].key
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(e any)   { *h = append(*h, e.(event)) }
func (h *events) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}
