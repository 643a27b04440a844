package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

func TestConfigNamesEveryBadField(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		_, err := worker.New(l.Client(), worker.Config{
			Queues:      []worker.Queue{{Name: "a:b"}, {Name: "ok", Weight: -1}, {Name: "ok", Max: -1}, {Name: "heavy", Weight: 2}},
			Strict:      true,
			Concurrency: -1, Lease: time.Millisecond, Heartbeat: time.Hour, ShutdownGrace: -1, Timeout: -1, Fallback: 1,
			Retry: cyclone.RetryPolicy{MaxAttempts: -1, Delays: []time.Duration{0}},
		})
		if err == nil {
			l.Fatal("a config full of mistakes is accepted")
		}
		for _, part := range []string{
			"Queues[0].Name", "Queues[1].Weight", "Queues[2].Name", "there twice", "Queues[2].Max", "Queues[3].Weight", "Strict",
			"Concurrency", "Lease is 1ms", "Heartbeat is 1h", "ShutdownGrace", "Timeout", "Fallback", "Retry", "attempts", "delays[0]",
		} {
			if !strings.Contains(err.Error(), part) {
				l.Errorf("the error does not name %q:\n%v", part, err)
			}
		}
	})
}

func TestConfigIsCopiedAndTheZeroValueWorks(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		queues := worker.Queues("a", "b")
		if _, err := worker.New(l.Client(), worker.Config{Queues: queues}); err != nil {
			l.Fatal(err)
		}
		if queues[0].Weight != 0 {
			l.Error("the caller's queues were changed")
		}
		w, err := worker.New(l.Client(), worker.Config{})
		if err != nil {
			l.Fatal(err)
		}
		if h := w.Health(); h.Free != worker.DefaultConcurrency || h.Running != 0 || h.Err != nil {
			l.Errorf("a new worker's health is %+v", h)
		}
		if w.ID() == "" {
			l.Error("the worker has no id")
		}
		if _, err := worker.New(nil, worker.Config{}); err == nil {
			l.Error("a worker without a client is accepted")
		}
	})
}

// A short lease has a heartbeat that fits it.
func TestConfigHeartbeatFollowsLease(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		if _, err := worker.New(l.Client(), worker.Config{Lease: time.Second}); err != nil {
			l.Errorf("a lease of a second alone is refused: %v", err)
		}
	})
}

func TestRegisterPanics(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		done := func(cyclone.Context, string) error { return nil }
		w := l.Prepare(worker.Config{})
		w.Register(cyclone.NewAction("mail", done, cyclone.WithAlias("old-mail")))
		for name, register := range map[string]func(){
			"declared only":    func() { w.Register(cyclone.DeclareAction[string]("declared")) },
			"twice":            func() { w.Register(cyclone.NewAction("mail", done)) },
			"an alias's name":  func() { w.Register(cyclone.NewAction("old-mail", done)) },
			"alias of another": func() { w.Register(cyclone.NewAction("new", done, cyclone.WithAlias("mail"))) },
			"task with a taken name": func() {
				w.NewTask("mail", cyclone.HandlerFunc(func(cyclone.Context, string) (string, error) { return "", nil }))
			},
		} {
			if !panics(func() { register() }) {
				l.Errorf("%s: no panic", name)
			}
		}
		w.Go()
		l.Pass(time.Second)
		if !panics(func() { w.Register(cyclone.NewAction("late", done)) }) {
			l.Error("Register after Run: no panic")
		}
	})
}

func panics(fn func()) (did bool) {
	defer func() { did = recover() != nil }()
	fn()
	return false
}

// A declared action that got its handler later is registered like any other.
func TestRegisterHandledDeclaration(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		ran := make(chan string, 1)
		ping := cyclone.DeclareAction[string]("ping")
		ping.Handle(func(ctx cyclone.Context, in string) error {
			if in == "first" {
				_, err := cyclone.EnqueueAction(ctx, l.Client(), ping, "second") // its own action
				return err
			}
			ran <- in
			return nil
		})
		l.Start(worker.Config{}, ping)
		if _, err := cyclone.EnqueueAction(context.Background(), l.Client(), ping, "first"); err != nil {
			l.Fatal(err)
		}
		if in := <-ran; in != "second" {
			l.Errorf("the handler got %q", in)
		}
	})
}
