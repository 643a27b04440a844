package queue

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cyclone-queue/cyclone"
)

// stream reads a subscription event by event.
type stream struct {
	l    *lab
	sub  *Subscription
	next func() (cyclone.StepEvent, error, bool)
}

func (l *lab) subscribe(c *Client, f EventFilter) *stream {
	l.Helper()
	sub, err := c.Subscribe(l.ctx, f)
	l.ok(err)
	next, stop := iter.Pull2(sub.Events(l.ctx))
	l.Cleanup(func() {
		_ = sub.Close()
		stop()
	})
	return &stream{l, sub, next}
}

func (s *stream) want(want ...cyclone.StepEvent) {
	s.l.Helper()
	for _, w := range want {
		got, err, ok := s.next()
		if err != nil || !ok {
			s.l.Fatalf("instead of %s: %v, %v", w.Type, err, ok)
		}
		if since := time.Since(got.At).Abs(); since > time.Minute {
			s.l.Errorf("%s at %v", got.Type, got.At)
		}
		if diff := cmp.Diff(w, got, cmpopts.IgnoreFields(cyclone.StepEvent{}, "At"), cmpopts.EquateApproxTime(time.Minute)); diff != "" {
			s.l.Errorf("%s (-want +got):\n%s", w.Type, diff)
		}
	}
}

// TestSpec_C13_SubscribeSeesEachSnooze from another client.
func TestSpec_C13_SubscribeSeesEachSnooze(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		events := l.subscribe(l.open(Config{}), EventFilter{Types: []cyclone.EventType{cyclone.EventSnoozed}})
		for range 2 {
			l.settle(Snooze(l.claim()[id], 1, "w1", time.Hour, time.Now()))
			l.ok(l.client.RunNow(l.ctx, id))
			events.want(cyclone.StepEvent{
				Type: cyclone.EventSnoozed, RunID: id, Node: "mail", Kind: "mail", Queue: "default", State: cyclone.StepSnoozed,
				Attempt: 1, DueAt: time.Now().Add(time.Hour), Worker: "w1",
			})
		}
	})
}

// TestSubscribeSeesEveryTransition of a step, in order.
func TestSubscribeSeesEveryTransition(t *testing.T) {
	everywhere(t, func(l *lab) {
		events := l.subscribe(l.open(Config{}), EventFilter{})
		soon := time.Now().Add(time.Hour)
		e := cyclone.StepEvent{Type: cyclone.EventEnqueued, Node: "mail", Kind: "mail", Queue: "default", State: cyclone.StepScheduled, Attempt: 1, DueAt: soon}
		then := func(event cyclone.EventType, state cyclone.StepState, worker string, change ...func()) {
			l.Helper()
			e.Type, e.State, e.Worker = event, state, worker
			for _, f := range change {
				f()
			}
			events.want(e)
			e.Error, e.Code, e.DueAt = "", "", time.Time{}
		}
		id := l.enqueue("a", cyclone.WithDelay(time.Hour))
		e.RunID = id
		then(cyclone.EventEnqueued, cyclone.StepScheduled, "")
		l.ok(l.client.Reschedule(l.ctx, id, soon))
		then(cyclone.EventRescheduled, cyclone.StepScheduled, "", func() { e.DueAt = soon })
		l.ok(l.client.RunNow(l.ctx, id))
		then(cyclone.EventPromoted, cyclone.StepReady, "")
		l.expire(id)
		then(cyclone.EventClaimed, cyclone.StepRunning, "w1")
		then(cyclone.EventLost, cyclone.StepReady, "w1")
		c := l.claim()[id]
		then(cyclone.EventClaimed, cyclone.StepRunning, "w1")
		l.settle(Release(c))
		then(cyclone.EventReleased, cyclone.StepReady, "w1")
		c = l.claim()[id]
		then(cyclone.EventClaimed, cyclone.StepRunning, "w1")
		l.settle(Retry(c, l.failure(c, "no"), time.Hour))
		then(cyclone.EventFailed, cyclone.StepRetrying, "w1", func() { e.Error, e.Code, e.DueAt = "no", "error", soon })
		l.ok(l.client.RunNow(l.ctx, id))
		e.Attempt = 2
		then(cyclone.EventPromoted, cyclone.StepReady, "")
		c = l.claim()[id]
		then(cyclone.EventClaimed, cyclone.StepRunning, "w1")
		l.settle(Discard(c, l.failure(c, "never")))
		then(cyclone.EventFailed, cyclone.StepExhausted, "w1", func() { e.Error, e.Code = "never", "error" })
		l.ok(l.client.Retry(l.ctx, id, "mail"))
		e.Attempt = 3
		then(cyclone.EventRetried, cyclone.StepReady, "")
		l.ok(l.client.Cancel(l.ctx, id))
		then(cyclone.EventCancelled, cyclone.StepCancelled, "")
		l.ok(l.client.Retry(l.ctx, id, "mail"))
		then(cyclone.EventRetried, cyclone.StepReady, "")
		c = l.claim()[id]
		then(cyclone.EventClaimed, cyclone.StepRunning, "w1")
		l.complete(c, "x", time.Hour)
		then(cyclone.EventCompleted, cyclone.StepCompleted, "w1")
		l.ok(l.client.Delete(l.ctx, id))
		then(cyclone.EventDeleted, "", "")
		id = l.enqueue("b")
		e.RunID, e.Attempt = id, 1
		then(cyclone.EventEnqueued, cyclone.StepReady, "")
		_, err := l.client.Purge(l.ctx, "default", nil)
		l.ok(err)
		then(cyclone.EventDeleted, "", "")
	})
}

func TestFiltersChooseEvents(t *testing.T) {
	everywhere(t, func(l *lab) {
		post := cyclone.DeclareAction[string]("post")
		enqueue := func(r cyclone.Request) cyclone.RunID {
			l.Helper()
			receipts, err := l.client.Enqueue(l.ctx, r)
			l.ok(err)
			return receipts[0].ID
		}
		reader := l.open(Config{})
		ofKind := l.subscribe(reader, EventFilter{Kinds: []string{"post"}, Types: []cyclone.EventType{cyclone.EventClaimed}})
		ofQueue := l.subscribe(reader, EventFilter{Queues: []string{"other"}})
		a, b, c := enqueue(mail.With("a")), enqueue(post.With("b")), enqueue(mail.With("c", cyclone.WithQueue("other")))
		ofRun := l.subscribe(reader, EventFilter{RunID: a})
		l.claim()
		claimed := cyclone.StepEvent{Type: cyclone.EventClaimed, RunID: b, Node: "post", Kind: "post", Queue: "default", State: cyclone.StepRunning, Attempt: 1, Worker: "w1"}
		ofKind.want(claimed)
		claimed.RunID, claimed.Node, claimed.Kind = a, "mail", "mail"
		ofRun.want(claimed)
		ofQueue.want(cyclone.StepEvent{Type: cyclone.EventEnqueued, RunID: c, Node: "mail", Kind: "mail", Queue: "other", State: cyclone.StepReady, Attempt: 1})
		for _, s := range []*stream{ofKind, ofRun, ofQueue} {
			if r, ok := s.sub.pop(); ok {
				l.Errorf("one more: %+v", r)
			}
		}
	})
}

// TestSlowReadersAreTold what they missed, and others are not held up.
func TestSlowReadersAreTold(t *testing.T) {
	everywhere(t, func(l *lab) {
		reader := l.open(Config{})
		slow := l.subscribe(reader, EventFilter{Types: []cyclone.EventType{cyclone.EventEnqueued}})
		last := l.subscribe(reader, EventFilter{Types: []cyclone.EventType{cyclone.EventCancelled}})
		l.crowd(subscriptionBuffer + 10)
		end := l.enqueue("end")
		l.ok(l.client.Cancel(l.ctx, end))
		if e, err, _ := last.next(); err != nil || e.RunID != end {
			l.Fatalf("%+v, %v", e, err)
		}
		for i := range subscriptionBuffer {
			if _, err, ok := slow.next(); err != nil || !ok {
				l.Fatalf("event %d: %v", i, err)
			}
		}
		if _, err, _ := slow.next(); !errors.Is(err, ErrLagged) {
			l.Errorf("%v, want ErrLagged", err)
		}
		id := l.enqueue("more")
		if e, err, _ := slow.next(); err != nil || e.RunID != id {
			l.Errorf("after the gap: %+v, %v", e, err)
		}
	})
}

func TestSubscriptionsEnd(t *testing.T) {
	everywhere(t, func(l *lab) {
		reader := l.open(Config{})
		ctx, stop := context.WithCancel(l.ctx)
		closed, cancelled, orphaned := l.subscribe(reader, EventFilter{}), l.subscribe(reader, EventFilter{}), l.subscribe(reader, EventFilter{})
		l.ok(closed.sub.Close())
		l.ok(closed.sub.Close())
		if _, err, ok := closed.next(); ok {
			l.Errorf("closed: %v", err)
		}
		stop()
		var errs []error
		for _, err := range cancelled.sub.Events(ctx) {
			errs = append(errs, err)
		}
		if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
			l.Errorf("cancelled: %v", errs)
		}
		l.ok(reader.Close())
		if _, err, _ := orphaned.next(); !errors.Is(err, ErrClosed) {
			l.Errorf("orphaned: %v", err)
		}
		if _, err := reader.Subscribe(l.ctx, EventFilter{}); !errors.Is(err, ErrClosed) {
			l.Errorf("subscribe on a closed client: %v", err)
		}
	})
}

// TestNobodyPublishesForNobody: the key that makes scripts publish ends by itself.
func TestNobodyPublishesForNobody(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.enqueue("a")
		keys, err := l.server.Keys(l.ctx)
		l.ok(err)
		if slices.ContainsFunc(keys, func(k string) bool { return baseName(k) == "subs" }) {
			l.Error("there is a subs key without a subscriber")
		}
		l.subscribe(l.client, EventFilter{})
		for _, p := range l.client.space.Load().parts {
			ttl, err := l.server.Client.PTTL(l.ctx, p.keys.subs()).Result()
			if l.ok(err); ttl <= 0 || ttl > subsLife {
				l.Errorf("partition %d: the subs key lives for %v", p.number, ttl)
			}
		}
	})
}
