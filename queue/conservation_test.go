package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// chaos does anything that a user, a worker or an operator can do, in any order.
type chaos struct {
	*lab
	rand   *rand.Rand
	ids    []cyclone.RunID
	claims []*Claimed // some of them stale
	did    map[string]int
}

var chaosQueues = []string{"default", "second"}

// allowed are the errors that an operation may meet.
var allowed = []error{cyclone.ErrNotFound, cyclone.ErrNotDiscarded, ErrFinished, ErrNotWaiting}

func (c *chaos) try(err error) {
	c.Helper()
	var duplicate *cyclone.DuplicateError
	if err == nil || errors.As(err, &duplicate) {
		return
	}
	for _, a := range allowed {
		if errors.Is(err, a) {
			return
		}
	}
	c.Fatal(err)
}

func (c *chaos) id() cyclone.RunID {
	if len(c.ids) == 0 {
		return 1
	}
	return c.ids[c.rand.IntN(len(c.ids))]
}

func (c *chaos) options() (opts []cyclone.EnqueueOption) {
	opts = append(opts, cyclone.WithQueue(chaosQueues[c.rand.IntN(2)]), cyclone.WithPriority(cyclone.Priority(c.rand.IntN(3))))
	if c.rand.IntN(3) == 0 {
		opts = append(opts, cyclone.WithDelay(time.Duration(c.rand.IntN(20))*time.Second))
	}
	key := fmt.Sprint(c.rand.IntN(5))
	switch c.rand.IntN(6) {
	case 0:
		opts = append(opts, cyclone.WithUnique(cyclone.Unique{Key: key, OnConflict: cyclone.Conflict(c.rand.IntN(3))}))
	case 1:
		opts = append(opts, cyclone.WithUnique(cyclone.Unique{Key: key, Scope: cyclone.For(time.Duration(1+c.rand.IntN(30)) * time.Second)}))
	case 2:
		opts = append(opts, cyclone.WithRequestKey(key))
	}
	return opts
}

func (c *chaos) settlement(cl *Claimed) Settlement {
	now := c.client.clock.now()
	switch c.rand.IntN(8) {
	case 0:
		return Retry(cl, c.failure(cl, "no"), time.Duration(c.rand.IntN(10))*time.Second)
	case 1:
		return Snooze(cl, 1, "w1", time.Duration(1+c.rand.IntN(10))*time.Second, now)
	case 2:
		return Discard(cl, c.failure(cl, "never"))
	case 3:
		return GiveBack(cl)
	case 4:
		return Release(cl)
	case 5:
		return PutBack(cl, time.Duration(c.rand.IntN(10))*time.Second)
	case 6:
		return Complete(cl, 1, 0, nil, 0, now)
	}
	return Complete(cl, 1, 0, nil, time.Hour, now)
}

// steps are everything that can be done.
func (c *chaos) steps() map[string]func() {
	claim := func() {
		for _, cl := range c.turn(chaosQueues[c.rand.IntN(2)], 1+c.rand.IntN(5)) {
			c.claims = append(c.claims, &cl)
		}
	}
	filter := func() Filter { return Filter{Queue: chaosQueues[c.rand.IntN(2)], Kind: "mail"} }
	enqueue := func() {
		receipts, err := c.client.Enqueue(c.ctx, mail.With(fmt.Sprint(c.rand.IntN(20)), c.options()...))
		if c.try(err); err == nil {
			c.ids = append(c.ids, receipts[0].ID)
		}
	}
	return map[string]func(){
		"enqueue": enqueue, "enqueue two": enqueue, "enqueue three": enqueue, "enqueue four": enqueue,
		"claim": claim, "claim two": claim, "claim three": claim,
		"settle": func() {
			var settle []Settlement
			for _, cl := range c.claims {
				if c.rand.IntN(2) == 0 {
					settle = append(settle, c.settlement(cl))
				}
			}
			c.turn(chaosQueues[c.rand.IntN(2)], c.rand.IntN(3), settle...)
			if c.rand.IntN(3) == 0 { // else the old claims are settled again, too late
				c.claims = nil
			}
		},
		"extend": func() {
			var held []Held
			for _, cl := range c.claims {
				held = append(held, Held{Claim: cl, Started: c.rand.IntN(2) == 0})
			}
			_, err := c.store.Extend(c.ctx, held, claimLease, []byte("{}"))
			c.try(err)
		},
		"cancel":  func() { c.try(c.client.Cancel(c.ctx, c.id())) },
		"delete":  func() { c.try(c.client.Delete(c.ctx, c.id())) },
		"retry":   func() { c.try(c.client.Retry(c.ctx, c.id(), "mail", cyclone.RetryReason("again"))) },
		"run now": func() { c.try(c.client.RunNow(c.ctx, c.id())) },
		"reschedule": func() {
			c.try(c.client.Reschedule(c.ctx, c.id(), time.Now().Add(time.Duration(c.rand.IntN(60)-5)*time.Second)))
		},
		"pause":        func() { c.try(c.client.Pause(c.ctx, "second")) },
		"resume":       func() { c.try(c.client.Resume(c.ctx, "second")) },
		"maintain":     func() { c.try(c.store.Maintain(c.ctx, nil, claimLease)) },
		"purge seldom": func() { c.seldom(func() error { _, err := c.client.Purge(c.ctx, "second", nil); return err }) },
		"cancel many":  func() { c.seldom(func() error { _, err := c.client.CancelMatching(c.ctx, filter(), nil); return err }) },
		"retry many":   func() { c.seldom(func() error { _, err := c.client.RetryMatching(c.ctx, filter(), nil); return err }) },
		"delete many":  func() { c.seldom(func() error { _, err := c.client.DeleteMatching(c.ctx, filter(), nil); return err }) },
	}
}

func (c *chaos) seldom(f func() error) {
	if c.rand.IntN(10) == 0 {
		c.try(f())
	}
}

// run does n things and audits now and then; wait passes some time.
func (c *chaos) run(n int, wait func(time.Duration)) {
	c.Helper()
	steps := c.lab.names(c.steps())
	all := c.steps()
	for i := range n {
		name := steps[c.rand.IntN(len(steps))]
		all[name]()
		c.did[name]++
		if c.rand.IntN(4) == 0 {
			wait(time.Duration(c.rand.IntN(20_000)) * time.Millisecond)
		}
		if i%25 == 24 {
			c.wantAudit()
			c.wantAgreement()
		}
		if c.Failed() {
			c.Fatalf("after %d steps, the last one %s; %v", i+1, name, c.did)
		}
	}
}

// wantAgreement compares three views: the counts, the lists, and step by step.
func (c *chaos) wantAgreement() {
	c.Helper()
	queues, err := c.client.Queues(c.ctx)
	c.ok(err)
	for _, q := range queues {
		for _, state := range visited {
			page, err := c.client.List(c.ctx, ListQuery{Queue: q.Name, State: state})
			c.ok(err)
			if n := int64(len(page.Steps)); n != q.Counts[state] && page.Next == "" {
				c.Errorf("%s: %d %s are counted, %d listed", q.Name, q.Counts[state], state, n)
			}
			for _, s := range page.Steps {
				if got := c.step(s.RunID); got.State != s.State || got.Queue != s.Queue {
					c.Errorf("run %v is listed as %s in %s and found as %s in %s", s.RunID, s.State, s.Queue, got.State, got.Queue)
				}
			}
		}
	}
}

// TestG15_NothingIsLostOrLeftOver: whatever is done, every step is in one place, and
// in the end nothing is left.
func TestG15_NothingIsLostOrLeftOver(t *testing.T) {
	t.Parallel()
	seeds := 6
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			cfg := Config{Partitions: 1 << (seed % 3)}
			bubbled(t, cfg, func(l *lab) {
				c := &chaos{lab: l, rand: rand.New(rand.NewPCG(1, uint64(seed))), did: map[string]int{}}
				c.run(300, time.Sleep)
				c.end(time.Sleep)
			})
		})
	}
}

// TestG15_OnEveryServer is the same on real ones, where time goes on by itself.
func TestG15_OnEveryServer(t *testing.T) {
	everywhere(t, func(l *lab) {
		c := &chaos{lab: l, rand: rand.New(rand.NewPCG(2, 2)), did: map[string]int{}}
		c.run(200, func(time.Duration) {})
		_, err := c.client.DeleteMatching(l.ctx, Filter{}, nil)
		l.ok(err)
		l.wantAudit()
		l.wantCounts(map[cyclone.StepState]int64{})
	})
}

// end lets everything finish, and then time pass.
func (c *chaos) end(wait func(time.Duration)) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 6*time.Hour)
	defer cancel()
	for _, q := range chaosQueues {
		c.ok(c.client.Resume(c.ctx, q))
	}
	for {
		left := int64(0)
		for _, q := range chaosQueues {
			for _, cl := range c.turn(q, 50) {
				c.turn(q, 0, Complete(&cl, 1, 0, nil, time.Minute, c.client.clock.now()))
			}
			counts, err := c.client.space.Load().counts(ctx, q)
			c.ok(err)
			left += counts.Unfinished()
		}
		if left == 0 {
			break
		}
		wait(10 * time.Second)
	}
	c.wantAudit()
	wait(DefaultDiscardedRetention + time.Hour)
	for range 10 * tidyEvery {
		c.ok(c.store.Maintain(c.ctx, chaosQueues, claimLease))
		for _, q := range chaosQueues {
			c.turn(q, 50) // takes ghosts out of the lists
		}
	}
	c.wantAudit()
	c.wantFixedKeysOnly()
}
