package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// The bounds of one enqueue call, within the 500 ids that a script may handle, and how
// much must be waiting before another call is sent beside the ones under way: a
// batch that forms while the previous call is in flight costs no delay and saves
// Redis a call.
const (
	batchItems  = 250
	batchBytes  = 2 << 20
	batchFlight = 4
	batchEager  = 28
)

// batcher groups the enqueues of one partition. The batch that forms while
// calls are under way goes out when one comes back.
type batcher struct {
	part  *partition
	lanes lanePool

	mu      sync.Mutex
	waiting []*item
	flight  int
	closed  bool
}

func (b *batcher) init(part *partition) {
	b.part = part
	b.lanes.part = part
}

// add puts items in line and sees to it that somebody sends them. A caller who would
// wait for the answer whatever happens sends them itself when nobody else is about to:
// that spares it two changes of goroutine.
func (b *batcher) add(items []item, patient bool) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		for i := range items {
			items[i].fail(ErrClosed)
		}
		return
	}
	for i := range items {
		b.waiting = append(b.waiting, &items[i])
	}
	start := b.start()
	b.mu.Unlock()
	lead := patient && start > 0
	if lead {
		start--
	}
	for range start {
		go b.run()
	}
	if lead {
		b.lead()
	}
}

// close refuses what comes from now on.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// start returns how many more calls should be under way now.
func (b *batcher) start() int {
	wanted := 0
	if len(b.waiting) > 0 {
		wanted = min(1+len(b.waiting)/batchEager, batchFlight)
	}
	n := max(wanted-b.flight, 0)
	b.flight += n
	b.part.client.work.Add(n)
	return n
}

// run sends batches until nothing waits.
func (b *batcher) run() {
	defer b.part.client.work.Done()
	l := b.lanes.take()
	sender := senders.Get().(*batchSender)
	for b.sendNext(sender, &l) {
	}
	b.lanes.put(l)
	senders.Put(sender)
}

// lead sends one batch and leaves the rest to run.
func (b *batcher) lead() {
	l := b.lanes.take()
	sender := senders.Get().(*batchSender)
	more := b.sendNext(sender, &l) && !b.signOff()
	b.lanes.put(l)
	senders.Put(sender)
	if more {
		go b.run()
		return
	}
	b.part.client.work.Done()
}

// sendNext sends a batch. Without one it signs off and returns false.
func (b *batcher) sendNext(sender *batchSender, l **lane) bool {
	batch := b.next(sender.batch[:0])
	sender.batch = batch
	for left := batch; len(left) > 0; {
		if (*l).void {
			*l = b.lanes.take()
		}
		left = left[sender.send(b.part, *l, left):]
	}
	return len(batch) > 0
}

// signOff ends a flight if nothing waits.
func (b *batcher) signOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		return false
	}
	b.flight--
	return true
}

// next moves a batch into room, or nothing and signs off.
func (b *batcher) next(room []*item) []*item {
	b.mu.Lock()
	defer b.mu.Unlock()
	gather(&b.mu, batchEager, func() int { return len(b.waiting) })
	if len(b.waiting) == 0 {
		b.flight--
		return room
	}
	n, size := 0, 0
	for n < len(b.waiting) && n < batchItems && (n == 0 || size+len(b.waiting[n].body) <= batchBytes) {
		size += len(b.waiting[n].body)
		n++
	}
	batch := append(room, b.waiting[:n]...)
	rest := copy(b.waiting, b.waiting[n:])
	clear(b.waiting[rest:])
	b.waiting = b.waiting[:rest]
	return batch
}

// gather lets callers that an answer has just released come back, as long as each
// pause brings some and they are not enough yet: they travel together. The mutex is held.
func gather(mu *sync.Mutex, enough int, waiting func() int) {
	for seen := -1; waiting() > seen && waiting() < enough; {
		seen = waiting()
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
	}
}

// withdraw removes what waits of a ticket and returns how much that was.
func (b *batcher) withdraw(t *ticket) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.waiting[:0]
	for _, it := range b.waiting {
		if it.ticket != t {
			kept = append(kept, it)
		}
	}
	n := len(b.waiting) - len(kept)
	clear(b.waiting[len(kept):])
	b.waiting = kept
	return n
}

// batchSender builds and sends one call at a time; its memory is used again.
type batchSender struct {
	batch  []*item // memory for the next one
	call   luascripts.Call
	input  luascripts.EnqueueInput
	detail detail
	ids    []int64 // by position in the batch
	lens   []int   // of the ids as text
	digits []byte
	order  []int // positions in the batch, in the order of the call
}

// senders are those of batchers that had nothing to send.
var senders = sync.Pool{New: func() any { return new(batchSender) }}

// blockAhead is how many ids a lane asks for at least.
const blockAhead = 256

// send stores as much of the batch as the lane has ids for, settles those items
// and returns how many they are.
func (s *batchSender) send(p *partition, l *lane, batch []*item) int {
	if err := p.announce(context.Background(), batch); err != nil {
		s.fail(batch, err)
		return len(batch)
	}
	n := min(len(batch), l.ids.len())
	replicas := s.build(p, l, batch[:n])
	if c := p.client; len(c.onEvent) > 0 {
		expected := startersOf(s.ids)
		c.firsts.expect(expected)
		defer func() { c.firsts.release(expected, c.tell) }()
	}
	t := tries{budget: p.client.cfg.ResendFor, replicas: replicas}
	reply, err := p.session(context.Background(), l, luascripts.Enqueue, &s.call, &t)
	switch {
	case errors.Is(err, errLaneVoid):
		return 0 // not applied: again on another lane
	case errors.Is(err, errIDsLost):
		if err := p.restoreIDs(p.client.life); err != nil {
			s.fail(batch, fmt.Errorf("queue: restore the counter of ids: %w", refine(err)))
			return len(batch)
		}
		return 0
	case err != nil:
		if n == 0 {
			n = len(batch) // the call that should bring ids
		}
		s.fail(batch[:n], refine(err))
		return n
	}
	answer := luascripts.ParseEnqueue(reply)
	if answer.First > 0 {
		l.ids = idBlock{next: answer.First, end: answer.First + s.input.Block}
	}
	s.settle(p, batch[:n], &answer, replicas > t.acks)
	return n
}

// build fills the call and returns how many replicas it waits for.
func (s *batchSender) build(p *partition, l *lane, batch []*item) (replicas int) {
	in := &s.input
	in.Queues, in.Items = in.Queues[:0], in.Items[:0]
	groups := in.Groups[:0]
	s.order = s.order[:0]
	s.detail.reset()
	texts := s.takeIDs(p, l, len(batch))
	for i, it := range batch {
		var id string
		id, texts = texts[:s.lens[i]], texts[s.lens[i]:]
		replicas = max(replicas, it.replicas)
		q := s.queue(p, it.queue)
		if it.plain() {
			groups = addPlain(groups, q, it.lane, id, it.body)
			continue
		}
		in.Items = append(in.Items, luascripts.EnqueueItem{
			Queue: q, Lane: it.lane, ID: id, Due: it.due, Body: it.body,
			Digest: it.digest, Conflict: it.rule(), ScopeMS: it.scopeMS,
		})
	}
	in.Groups = groups
	s.inOrder(batch)
	in.Block = 0
	if l.ids.len() < max(blockAhead/4, len(batch)) {
		in.Block = int64(max(blockAhead, 4*len(batch)))
	}
	in.MaxBytes = p.client.maxBody()
	in.Channels = p.channels()
	in.Partition = p.number
	in.Detail = s.detail.bytes()
	s.call.Reset()
	k := p.keys
	luascripts.EnqueueCall(&s.call, &luascripts.EnqueueKeys{
		Steps: k.steps(), Sess: k.sess(), Uniq: k.uniq(), UniqOf: k.uniqof(), UniqX: k.uniqx(),
		IDs: k.ids(), Subs: k.subs(), Stats: k.stats(), Paused: k.paused(), Offers: k.offers(), Handed: k.handed(),
	}, in)
	return replicas
}

// takeIDs takes n ids of the lane's block and returns their texts in one string.
func (s *batchSender) takeIDs(p *partition, l *lane, n int) string {
	s.ids, s.lens, s.digits = s.ids[:0], s.lens[:0], s.digits[:0]
	partitions := int64(len(p.client.space.Load().parts))
	for range n {
		id := l.ids.next*partitions + int64(p.number)
		l.ids.next++
		s.ids = append(s.ids, id)
		before := len(s.digits)
		s.digits = strconv.AppendInt(s.digits, id, 10)
		s.lens = append(s.lens, len(s.digits)-before)
	}
	return string(s.digits)
}

// inOrder notes which item of the batch is which of the call, and its details.
func (s *batchSender) inOrder(batch []*item) {
	for g := range s.input.Groups {
		group := &s.input.Groups[g]
		for i, it := range batch {
			if it.plain() && s.input.Queues[group.Queue].Name == it.queue && group.Lane == it.lane {
				s.order = append(s.order, i)
				s.detail.add(it.kind, it.kind, 1, "", "")
			}
		}
	}
	for i, it := range batch {
		if !it.plain() {
			s.order = append(s.order, i)
			s.detail.add(it.kind, it.kind, 1, "", "")
		}
	}
}

func (s *batchSender) queue(p *partition, name string) int {
	for i := range s.input.Queues {
		if s.input.Queues[i].Name == name {
			return i
		}
	}
	k := p.keys.queue(name)
	s.input.Queues = append(s.input.Queues, luascripts.EnqueueQueue{
		Name: name, Leased: k.leased, Scheduled: k.scheduled, Waiters: k.waiters, Ready: k.ready,
	})
	return len(s.input.Queues) - 1
}

// addPlain appends to the group of the queue and lane; groups keep their memory
// from batch to batch.
func addPlain(groups []luascripts.EnqueueGroup, q, lane int, id, body string) []luascripts.EnqueueGroup {
	for g := range groups {
		if groups[g].Queue == q && groups[g].Lane == lane {
			groups[g].IDs = append(groups[g].IDs, id)
			groups[g].Bodies = append(groups[g].Bodies, body)
			return groups
		}
	}
	n := len(groups)
	if n < cap(groups) {
		groups = groups[:n+1]
	} else {
		groups = append(groups, luascripts.EnqueueGroup{})
	}
	g := &groups[n]
	g.Queue, g.Lane = q, lane
	g.IDs = append(g.IDs[:0], id)
	g.Bodies = append(g.Bodies[:0], body)
	return groups
}

func (s *batchSender) fail(batch []*item, err error) {
	for _, it := range batch {
		it.fail(err)
	}
}

// settle writes the receipts, tells the process's own listeners, and lets the
// callers go.
func (s *batchSender) settle(p *partition, batch []*item, answer *luascripts.EnqueueReply, unconfirmed bool) {
	plain := len(batch) - len(s.input.Items)
	for i, it := range batch {
		it.receipt.ID = cyclone.RunID(s.ids[i])
		if unconfirmed && it.replicas > 0 {
			it.receipt.Err = fmt.Errorf("%w: the step is stored as run %d", cyclone.ErrNotReplicated, s.ids[i])
		}
	}
	for _, held := range answer.Conflicts {
		it := batch[s.order[plain+held.Item]]
		holder, _ := strconv.ParseInt(held.Holder, 10, 64)
		it.receipt.ID, it.receipt.Existing = cyclone.RunID(holder), true
		if it.conflict == 1 {
			*it.receipt = cyclone.Receipt{Err: &cyclone.DuplicateError{Key: it.key, Holder: cyclone.RunID(holder)}}
		}
	}
	if len(p.client.onEvent) > 0 {
		s.tell(p, batch, answer.NowMS)
	}
	for _, it := range batch {
		it.ticket.settle(1)
	}
}

func (s *batchSender) tell(p *partition, batch []*item, nowMS int64) {
	for _, i := range s.order {
		it := batch[i]
		if it.receipt.Existing || it.receipt.ID == 0 {
			continue
		}
		state := cyclone.StepReady
		if it.due != "" {
			state = cyclone.StepScheduled
		}
		p.client.tell(cyclone.StepEvent{
			Type: cyclone.EventEnqueued, RunID: it.receipt.ID, Node: it.kind, Kind: it.kind, Queue: it.queue,
			State: state, Attempt: 1, At: timeOf(nowMS),
		})
	}
}
