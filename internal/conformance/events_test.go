package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// lives returns what happened to each run, in order, as "type state attempt".
// Elsewhere the attempt of a claim is looked up, and may be too late to be found.
func (h *heard) lives() map[cyclone.RunID][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[cyclone.RunID][]string)
	for _, e := range h.all {
		text := fmt.Sprint(e.Type, " ", e.State)
		if e.Type != cyclone.EventClaimed {
			text += fmt.Sprint(" ", e.Attempt)
		}
		all[e.RunID] = append(all[e.RunID], text)
	}
	return all
}

// subscribe collects what a subscription hears until the test ends.
func subscribe(l *lab.Lab, filter queue.EventFilter) *heard {
	l.Helper()
	h := &heard{}
	sub, err := l.Client().Subscribe(l.Context(), filter)
	if err != nil {
		l.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for e, err := range sub.Events(l.Context()) {
			if err == nil {
				h.add(e)
			} else if l.Context().Err() == nil {
				l.Errorf("subscription: %v", err)
			}
		}
	}()
	l.Cleanup(func() {
		_ = sub.Close()
		<-read
	})
	return h
}

// Every transition is told once and in order, to the process that causes it and
// to subscribers elsewhere.
func TestEventsTellEveryTransition(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		local := &heard{}
		lab.OnEvent(local.add)(l)
		remote := subscribe(l, queue.EventFilter{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, in string) error {
			switch {
			case in == "fails" && ctx.Attempt() == 1:
				return cyclone.RetryAfter(errBoom, time.Millisecond)
			case in == "discarded" && ctx.Attempt() == 1:
				return cyclone.Permanent(errBoom)
			case in == "cancelled":
				return untilEnd(ctx)
			}
			return nil
		})
		w := l.Start(worker.Config{}, action)
		fails := lab.Enqueue(l, action, "fails")
		discarded := lab.Enqueue(l, action, "discarded")
		cancelled := lab.Enqueue(l, action, "cancelled")
		deleted := lab.Enqueue(l, action, "", cyclone.WithDelay(time.Hour))
		l.UntilGone(fails)
		l.UntilState(discarded, cyclone.StepExhausted)
		l.UntilState(cancelled, cyclone.StepRunning)
		for _, err := range []error{
			l.Client().Retry(ctx, discarded, "job"), l.Client().Cancel(ctx, cancelled),
			l.Client().Reschedule(ctx, deleted, l.Now().Add(2*time.Hour)), l.Client().RunNow(ctx, deleted),
		} {
			if err != nil {
				l.Fatal(err)
			}
		}
		l.UntilGone(discarded)
		l.UntilGone(deleted)
		l.Until("the cancelled handler has returned", func() bool { return w.Health().Running == 0 })
		want := map[cyclone.RunID][]string{
			fails:     {"enqueued ready 1", "claimed running", "failed retrying 1", "claimed running", "completed completed 2"},
			discarded: {"enqueued ready 1", "claimed running", "failed discarded 1", "retried ready 2", "claimed running", "completed completed 2"},
			cancelled: {"enqueued ready 1", "claimed running", "cancelled cancelled 1"},
			deleted:   {"enqueued scheduled 1", "rescheduled scheduled 1", "promoted ready 1", "claimed running", "completed completed 1"},
		}
		for id, life := range want {
			l.Until(fmt.Sprintf("all of run %v is heard: %v", id, life), func() bool {
				return len(remote.lives()[id]) >= len(life) && len(local.lives()[id]) >= len(life)
			})
			if got := remote.lives()[id]; !slices.Equal(got, life) {
				l.Errorf("a subscriber heard of run %v\n%q, want\n%q", id, got, life)
			}
			// The enqueuing client and the worker's may hear of their replies in either order.
			if got := local.lives()[id]; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(life))) {
				l.Errorf("the process itself heard of run %v\n%q, want\n%q", id, got, life)
			}
		}
	})
}

// What workers do to steps without their handlers is told too.
func TestEventsOfLostAndReleasedSteps(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		remote := subscribe(l, queue.EventFilter{Queues: []string{"default"}})
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) <= 2 {
				return untilEnd(ctx)
			}
			return nil
		})
		other := cyclone.DeclareAction[string]("other")
		dead := l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		lab.Enqueue(l, other, "", cyclone.WithQueue("elsewhere"))
		l.Pass(time.Second)
		dead.Pull()
		stopped := l.Start(worker.Config{ShutdownGrace: time.Second}, action)
		l.Pass(time.Minute)
		_ = stopped.Stop()
		l.Start(worker.Config{}, action)
		l.Pass(time.Second)
		types := remote.types()
		want := []cyclone.EventType{cyclone.EventEnqueued, cyclone.EventClaimed, cyclone.EventLost, cyclone.EventClaimed,
			cyclone.EventReleased, cyclone.EventClaimed, cyclone.EventCompleted}
		if !slices.Equal(types, want) {
			l.Errorf("of run %v a subscriber heard %v, want %v", id, types, want)
		}
		lost := remote.find(cyclone.EventLost)
		if len(lost) != 1 || lost[0].Worker != dead.ID() {
			l.Errorf("lost events %+v, want one that names worker %s", lost, dead.ID())
		}
	})
}

// In a process that enqueues and works by one client the enqueue is told first,
// although the worker may hear of its claim before.
func TestEventsOfOneProcessKeepTheirOrder(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 1000
		h := &heard{}
		lab.OnEvent(h.add)(l)
		done := make(chan struct{}, 1)
		action := cyclone.NewAction("job", func(cyclone.Context, string) error { done <- struct{}{}; return nil })
		w, err := worker.New(l.Client(), worker.Config{Logger: l.Logger()})
		if err != nil {
			l.Fatal(err)
		}
		w.Register(action)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		for range n {
			lab.Enqueue(l, action, "")
			<-done
		}
		cancel()
		if err := <-ended; err != nil {
			l.Error(err)
		}
		want := []string{"enqueued ready 1", "claimed running", "completed completed 1"}
		lives := h.lives()
		for id, life := range lives {
			if !slices.Equal(life, want) {
				l.Errorf("run %v: %q, want %q", id, life, want)
			}
		}
		if len(lives) != n {
			l.Errorf("%d runs were heard of, want %d", len(lives), n)
		}
	})
}
