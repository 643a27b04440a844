package queue

import (
	"slices"
	"sync"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// runBatcher groups the runs of many steps that are enqueued on one partition: what
// waits when a call comes back travels with the next one.
type runBatcher struct {
	part *partition

	mu      sync.Mutex
	waiting []*runItem
	flight  int
	closed  bool
}

// add puts a run in line and sees to it that somebody sends it.
func (b *runBatcher) add(it *runItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		it.fail(ErrClosed)
		return
	}
	b.waiting = append(b.waiting, it)
	if b.flight < min(1+len(b.waiting)/buildEager, buildFlight) {
		b.flight++
		b.part.client.work.Go(b.run)
	}
}

// close refuses what comes from now on.
func (b *runBatcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// withdraw removes a run that still waits.
func (b *runBatcher) withdraw(it *runItem) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.waiting, it)
	if at >= 0 {
		b.waiting = slices.Delete(b.waiting, at, at+1)
	}
	return at >= 0
}

// next takes what fits into one call, a large run alone, or signs off.
func (b *runBatcher) next() []*runItem {
	b.mu.Lock()
	defer b.mu.Unlock()
	gather(&b.mu, buildEager, func() int { return len(b.waiting) })
	n, ids, size := 0, 0, 0
	for _, it := range b.waiting {
		ids, size = ids+1+len(it.nodes), size+it.size+len(it.graph)
		if n > 0 && (ids > luascripts.MaxIDs || size > batchBytes) {
			break
		}
		n++
	}
	if n == 0 {
		b.flight--
		return nil
	}
	batch := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return batch
}

func (b *runBatcher) run() {
	lanes := &b.part.enqueues.lanes
	s := buildSender{p: b.part, lane: lanes.take()}
	for {
		batch := b.next()
		if batch == nil {
			lanes.put(s.lane)
			return
		}
		if err := s.announce(batch); err != nil {
			fail(batch, err)
			continue
		}
		if len(batch) == 1 && batch[0].large() {
			s.sendLarge(batch[0])
		} else {
			s.send(batch)
		}
	}
}

func (it *runItem) large() bool {
	return len(it.nodes) > buildNodes || it.size+len(it.graph) > batchBytes
}

// fail answers the run with an error.
func (it *runItem) fail(err error) {
	it.receipt.Err = err
	it.ticket.settle(1)
}

func fail(batch []*runItem, err error) {
	for _, it := range batch {
		it.fail(err)
	}
}
