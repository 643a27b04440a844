package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// storeWorker is a worker in one goroutine, on queue.Store: one call after another.
type storeWorker struct {
	w     *world
	h     *workerHost
	store *queue.Store
	rng   *rand.Rand
	alien bool // knows the kind

	held   []*holding
	settle []queue.Settlement
	beat   time.Time // of the last renewal
	upkeep time.Time // of the last maintenance
}

// holding is a claim whose handler runs.
type holding struct {
	claim   *queue.Claimed
	job     job
	attempt int
	limit   int
	now     time.Time // Redis' time of the claim
	lease   time.Time // local end of the lease
	done    time.Time // when the work is done
	gone    bool      // the lease, or the step
}

const slots = 4

func (w *world) startStoreWorker() {
	h, ctx := w.newWorkerHost()
	name := h.host.name
	h.setID(name)
	s := &storeWorker{
		w: w, h: h, store: queue.NewStore(w.newClient(h.host), name), rng: w.rng(name), beat: time.Now(), upkeep: time.Now(),
	}
	s.alien = !w.ignorance(h, s.rng)
	w.crew.Go(func() { s.run(ctx) })
}

func (s *storeWorker) run(ctx context.Context) {
	for {
		rest(s.pause())
		stopping := ctx.Err() != nil
		if s.h.host.isDead() || stopping && len(s.held) == 0 && len(s.settle) == 0 {
			break
		}
		s.look(stopping)
		s.turn(stopping)
		if time.Since(s.beat) >= heartbeat {
			s.renew()
		}
		if time.Since(s.upkeep) >= 5*time.Second {
			s.upkeep = time.Now()
			s.try(func(ctx context.Context) error { return s.store.Maintain(ctx, queueNames, lease) })
		}
	}
	s.try(func(ctx context.Context) error { return s.store.Leave(ctx, queueNames) })
}

// pause is until the next turn: long when there is little to expect, which saves
// most of what a simulation costs.
func (s *storeWorker) pause() time.Duration {
	d := time.Duration(20+s.rng.IntN(400))*time.Millisecond + time.Duration(s.rng.IntN(1e6))
	if len(s.held) == 0 && len(s.settle) == 0 && !s.w.running.Load() {
		d *= 4
	}
	return d
}

// try makes a call that does not go on for ever.
func (s *storeWorker) try(call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = call(ctx)
}

// look settles what is done, and what is over.
func (s *storeWorker) look(stopping bool) {
	now := time.Now()
	s.held = slices.DeleteFunc(s.held, func(g *holding) bool {
		switch {
		case g.gone || now.After(g.lease), stopping:
			s.settle = append(s.settle, queue.Release(g.claim))
		case now.Before(g.done):
			return false
		default:
			st, ok := s.verdict(g)
			if !ok {
				return true // the worker is dead
			}
			s.settle = append(s.settle, st)
		}
		return true
	})
}

// verdict is what the handler comes to.
func (s *storeWorker) verdict(g *holding) (st queue.Settlement, ok bool) {
	at := g.now.Add(time.Since(g.done.Add(-g.job.Work)))
	f := queue.Failure{Attempt: g.attempt, Code: "error", Error: errPlanned.Error(), Worker: s.h.id(), At: at, Failures: 1, LostSeen: g.claim.Counters.LostStarted}
	switch g.job.decide(g.attempt, g.claim.Envelope.Snoozes) {
	case crash:
		s.w.crash(s.h)
		return st, false
	case snooze:
		return queue.Snooze(g.claim, g.attempt, s.h.id(), 400*time.Millisecond, at), true
	case permanent:
		return queue.Discard(g.claim, f), true
	case failure, failAfter, panics:
		if g.attempt >= g.limit {
			return queue.Discard(g.claim, f), true
		}
		return queue.Retry(g.claim, f, delays[0]), true
	}
	keep := time.Duration(0)
	if k := g.claim.Envelope.Kind; k == "step" || k == "task" {
		keep = retention
	}
	return queue.Complete(g.claim, g.attempt, 0, nil, keep, at), true
}

// turn settles and claims.
func (s *storeWorker) turn(stopping bool) {
	free := slots - len(s.held)
	if stopping {
		free = 0
	}
	req := &queue.TurnRequest{Partition: s.rng.IntN(s.w.cfg.Partitions), Wanted: free, Lease: lease}
	if free > 0 {
		req.Wait = 3 * fallback
	}
	mine := func(st queue.Settlement) bool { return partitionOf(st.Claim, s.w.cfg.Partitions) == req.Partition }
	if len(s.settle) > 0 {
		req.Partition = partitionOf(s.settle[0].Claim, s.w.cfg.Partitions)
	}
	for _, st := range s.settle {
		if mine(st) {
			req.Settle = append(req.Settle, st)
		}
	}
	for _, i := range s.rng.Perm(len(queueNames)) {
		req.Queues = append(req.Queues, queue.Room{Queue: queueNames[i], N: free})
		for lane := range 3 {
			if free > 0 {
				req.Claim = append(req.Claim, queue.Quota{Queue: queueNames[i], Priority: cyclone.Priority(lane), N: free})
			}
		}
	}
	patience := 20 * time.Second
	if s.rng.IntN(4) == 0 {
		patience = time.Duration(1 + s.rng.Int64N(int64(3*time.Second)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	reply, err := s.store.Turn(ctx, req)
	if err != nil {
		return // what was to be settled is sent again
	}
	s.settle = slices.DeleteFunc(s.settle, mine)
	for i := range reply.Claimed {
		s.begin(&reply.Claimed[i], reply, stopping)
	}
}

func partitionOf(c *queue.Claimed, partitions int) int { return int(c.ID) & (partitions - 1) }

// begin starts the handler of a claim, or settles the claim.
func (s *storeWorker) begin(c *queue.Claimed, reply *queue.TurnReply, stopping bool) {
	env, k := c.Envelope, c.Counters
	g := &holding{claim: c, job: jobOf(c.ID.String(), env), attempt: env.Failures + 1, now: reply.Now, lease: reply.LeaseUntil, limit: maxAttempts}
	if env.MaxAttempts > 0 {
		g.limit = env.MaxAttempts
	}
	if k.Limit > 0 {
		g.limit = k.Limit
	}
	lost := 0
	if env.Kind == "task" {
		lost = k.LostStarted - env.LostSeen
	}
	f := queue.Failure{Attempt: g.attempt, Code: "attempt_lost", Error: "lost", Worker: s.h.id(), At: reply.Now, LostSeen: k.LostStarted, Failures: lost}
	switch {
	case stopping || time.Now().After(reply.LeaseUntil):
		s.settle = append(s.settle, queue.GiveBack(c))
	case env.Kind == "alien" && !s.alien:
		s.settle = append(s.settle, queue.PutBack(c, time.Second))
	case lost > 0 && env.Failures+lost >= g.limit, k.LostStarted+k.LostUnstarted-k.Forgiven >= lostCap:
		s.settle = append(s.settle, queue.Discard(c, f))
	case lost > 0:
		s.settle = append(s.settle, queue.Retry(c, f, delays[0]))
	case env.Kind == "task" && !s.confirm(g):
		s.settle = append(s.settle, queue.GiveBack(c))
	default:
		s.w.audit.start(s.h.id(), c.ID.String())
		g.done = time.Now().Add(g.job.Work)
		s.held = append(s.held, g)
	}
}

// confirm marks a task's attempt as started before it is.
func (s *storeWorker) confirm(g *holding) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lease/2)
	defer cancel()
	sent := time.Now()
	gone, err := s.store.Extend(ctx, []queue.Held{{Claim: g.claim, Started: true}}, lease, nil)
	g.lease = sent.Add(lease)
	return err == nil && len(gone) == 0
}

// renew extends all leases.
func (s *storeWorker) renew() {
	s.beat = time.Now()
	held := make([]queue.Held, len(s.held))
	for i, g := range s.held {
		held[i] = queue.Held{Claim: g.claim, Started: true}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lease/2)
	defer cancel()
	gone, err := s.store.Extend(ctx, held, lease, []byte(`{"queues":[]}`))
	if err != nil {
		return
	}
	for i, g := range s.held {
		if gone[i] != nil {
			g.gone = true
			continue
		}
		g.lease = s.beat.Add(lease)
	}
}
