package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// waiting is a call of Await under way.
type waiting struct {
	l    *lab
	done chan struct{}
	out  string
	err  error
}

// await starts to wait and returns when the call listens.
func (l *lab) await(c *Client, id cyclone.RunID, decode bool) *waiting {
	l.Helper()
	w := &waiting{l: l, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		var out any
		if decode {
			out = &w.out
		}
		w.err = c.Await(l.ctx, id, out)
	}()
	for !c.listens(id) {
		select {
		case <-w.done:
			return w
		case <-time.After(time.Millisecond):
		}
	}
	return w
}

// listens tells whether a call waits for the run and would hear of its end.
func (c *Client) listens(id cyclone.RunID) bool {
	c.listen.mu.Lock()
	defer c.listen.mu.Unlock()
	if len(c.listen.waits[id.String()]) == 0 || c.listen.now == nil {
		return false
	}
	select {
	case <-c.listen.now.ready:
		return true
	default:
		return false
	}
}

func (w *waiting) result() (string, error) {
	w.l.Helper()
	select {
	case <-w.done:
	case <-w.l.ctx.Done():
		w.l.Fatal("still waiting")
	}
	return w.out, w.err
}

func TestAwaitReturnsTheOutput(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		other := l.open(Config{})
		early := l.await(other, id, true)
		l.complete(l.claim()[id], "done", time.Hour)
		if out, err := early.result(); out != "done" || err != nil {
			l.Errorf("%q, %v", out, err)
		}
		if out, err := l.await(other, id, true).result(); out != "done" || err != nil {
			l.Errorf("late: %q, %v", out, err)
		}
		if _, err := l.await(other, id, false).result(); err != nil {
			l.Errorf("late, without output: %v", err)
		}
		var n int
		if err := other.Await(l.ctx, id, &n); err == nil || errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("output of another type: %v", err)
		}
	})
}

// TestAwaitHearsOfRunsThatLeaveNothing, which is an action's default.
func TestAwaitHearsOfRunsThatLeaveNothing(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		heard, wanting := l.await(l.client, id, false), l.await(l.client, id, true)
		l.settle(Complete(l.claim()[id], 1, 0, nil, 0, time.Now()))
		if _, err := heard.result(); err != nil {
			l.Errorf("completed: %v", err)
		}
		for name, w := range map[string]*waiting{"with output": wanting, "late": l.await(l.client, id, false), "unknown": l.await(l.client, 4711, false)} {
			if _, err := w.result(); !errors.Is(err, cyclone.ErrNotFound) {
				l.Errorf("%s: %v", name, err)
			}
		}
		deleted := l.enqueue("b")
		w := l.await(l.client, deleted, false)
		l.ok(l.client.Delete(l.ctx, deleted))
		if _, err := w.result(); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("deleted: %v", err)
		}
	})
}

func TestAwaitTellsHowARunFailed(t *testing.T) {
	everywhere(t, func(l *lab) {
		failed, cancelled := l.enqueue("a"), l.enqueue("b")
		ofFailed, ofCancelled := l.await(l.client, failed, true), l.await(l.client, cancelled, true)
		c := l.claim()[failed]
		l.settle(Discard(c, l.failure(c, "boom")))
		l.ok(l.client.Cancel(l.ctx, cancelled))
		for w, want := range map[*waiting]*cyclone.RunError{
			ofFailed:    {RunID: failed, State: cyclone.RunFailed, Node: "mail", Attempts: 1, Code: "error", Message: "boom"},
			ofCancelled: {RunID: cancelled, State: cyclone.RunCancelled, Node: "mail", Code: "cancelled"},
		} {
			var got *cyclone.RunError
			if _, err := w.result(); !errors.As(err, &got) {
				l.Fatalf("%v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				l.Errorf("(-want +got):\n%s", diff)
			}
			if errors.Is(got, cyclone.ErrCancelled) != (want.State == cyclone.RunCancelled) {
				l.Errorf("%v: ErrCancelled", got)
			}
		}
	})
}

// TestManyAwaitsShareOneConnection and leave nothing behind.
func TestManyAwaitsShareOneConnection(t *testing.T) {
	everywhere(t, func(l *lab) {
		ids := l.crowd(50)
		var all []*waiting
		for _, id := range ids {
			all = append(all, l.await(l.client, id, false), l.await(l.client, id, true))
		}
		hearing := l.client.listen.now
		var settle []Settlement
		for _, c := range l.claim() {
			codec, b, err := l.client.Encode("x")
			l.ok(err)
			settle = append(settle, Complete(c, 1, codec, b, time.Hour, time.Now()))
		}
		l.settle(settle...)
		for _, w := range all {
			if _, err := w.result(); err != nil {
				l.Error(err)
			}
		}
		l.client.listen.mu.Lock()
		defer l.client.listen.mu.Unlock()
		if l.client.listen.now != hearing || len(l.client.listen.waits) != 0 || l.client.listen.users != 0 {
			l.Errorf("%d users, waiting for %d runs", l.client.listen.users, len(l.client.listen.waits))
		}
	})
}

func TestAwaitEndsWithItsContextAndItsClient(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		ctx, stop := context.WithCancel(l.ctx)
		stop()
		if err := l.client.Await(ctx, id, nil); !errors.Is(err, context.Canceled) {
			l.Errorf("%v", err)
		}
		other := l.open(Config{})
		w := l.await(other, id, false)
		l.ok(other.Close())
		if _, err := w.result(); !errors.Is(err, ErrClosed) {
			l.Errorf("%v", err)
		}
		if err := other.Await(l.ctx, id, nil); !errors.Is(err, ErrClosed) {
			l.Errorf("on a closed client: %v", err)
		}
	})
}

// bubbled runs f in virtual time, on the embedded server.
func bubbled(t *testing.T, cfg Config, f func(l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := embedded.InProcess()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		rdb := s.Client()
		defer func() { _ = rdb.Close() }()
		l := &lab{T: t, ctx: t.Context(), server: testserver.Server{Name: testserver.Miniredis, Client: rdb, Prefix: "t", Embedded: s}}
		cfg.Prefix = "t"
		l.client, err = NewClient(rdb, cfg)
		l.ok(err)
		defer func() { _ = l.client.Close() }()
		_, err = l.client.join(l.ctx)
		l.ok(err)
		l.store = NewStore(l.client, "w1")
		f(l)
	})
}

// TestAwaitLooksByItself when no event tells it.
func TestAwaitLooksByItself(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{}, func(l *lab) {
		id := l.enqueue("a")
		w := l.await(l.client, id, true)
		time.Sleep(5 * time.Minute)
		l.ok(l.server.Client.Del(l.ctx, l.part(id).keys.subs()).Err())
		l.complete(l.claim()[id], "done", time.Hour)
		began := time.Now()
		if out, err := w.result(); out != "done" || err != nil {
			l.Errorf("%q, %v", out, err)
		}
		if d := time.Since(began); d > lookMost {
			l.Errorf("after %v", d)
		}
	})
}

// TestListeningCostsNothingWhenItIsOver: the connection goes after a while, and so
// does the key that makes scripts publish.
func TestListeningCostsNothingWhenItIsOver(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{Partitions: 2}, func(l *lab) {
		sub, err := l.client.Subscribe(l.ctx, EventFilter{})
		l.ok(err)
		subs := func() int64 {
			n := int64(0)
			for _, p := range l.client.space.Load().parts {
				n += l.server.Client.Exists(l.ctx, p.keys.subs()).Val()
			}
			return n
		}
		time.Sleep(10 * subsLife)
		if n := subs(); n != 2 {
			l.Errorf("%d partitions publish while somebody listens", n)
		}
		l.ok(sub.Close())
		time.Sleep(linger + time.Second)
		l.client.listen.mu.Lock()
		if l.client.listen.now != nil {
			l.Error("the connection is still there")
		}
		l.client.listen.mu.Unlock()
		time.Sleep(subsLife)
		if n := subs(); n != 0 {
			l.Errorf("%d partitions publish for nobody", n)
		}
		again, err := l.client.Subscribe(l.ctx, EventFilter{})
		l.ok(err)
		l.enqueue("a")
		for _, err := range again.Events(l.ctx) {
			l.ok(err)
			break
		}
		l.ok(again.Close())
	})
}

// TestListenersOutliveTheirConnection and are told that events may be missing.
func TestListenersOutliveTheirConnection(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		t.Parallel()
		l := newLab(t, s, Config{Partitions: 2})
		proxy, err := faultproxy.Start(s.Options().Addr)
		l.ok(err)
		l.Cleanup(proxy.Close)
		options := s.Options()
		options.Addr = proxy.Addr()
		rdb := redis.NewClient(options)
		l.Cleanup(func() { _ = rdb.Close() })
		far, err := NewClient(rdb, Config{Prefix: s.Prefix})
		l.ok(err)
		l.Cleanup(func() { _ = far.Close() })

		id := l.enqueue("a")
		events := l.subscribe(far, EventFilter{Types: []cyclone.EventType{cyclone.EventEnqueued, cyclone.EventCompleted}})
		w := l.await(far, id, true)
		proxy.Refuse(true)
		l.complete(l.claim()[id], "done", time.Hour)
		proxy.Refuse(false)
		if out, err := w.result(); out != "done" || err != nil {
			l.Errorf("%q, %v", out, err)
		}
		if e, err, _ := events.next(); !errors.Is(err, ErrLagged) {
			l.Errorf("%+v, %v, want ErrLagged", e, err)
		}
		next := l.enqueue("b")
		if e, err, _ := events.next(); err != nil || e.RunID != next {
			l.Errorf("%+v, %v", e, err)
		}
	})
}

func TestDrainWaitsUntilNothingIsLeft(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.ok(l.client.Drain(l.ctx, "default"))
		ids := l.crowd(20)
		scheduled := l.enqueue("later", cyclone.WithDelay(time.Hour))
		l.ok(l.client.Cancel(l.ctx, ids[0]))
		var drained sync.WaitGroup
		var err error
		drained.Go(func() { err = l.client.Drain(l.ctx, "default") })
		for _, c := range l.claim() {
			l.settle(Complete(c, 1, 0, nil, 0, time.Now()))
		}
		l.ok(l.client.Delete(l.ctx, scheduled))
		drained.Wait()
		l.ok(err)
		l.wantCounts(map[cyclone.StepState]int64{cyclone.StepCancelled: 1})
		l.enqueue("one more")
		ctx, stop := context.WithCancel(l.ctx)
		stop()
		if err := l.client.Drain(ctx, "default"); !errors.Is(err, context.Canceled) {
			l.Errorf("%v", err)
		}
	})
}
