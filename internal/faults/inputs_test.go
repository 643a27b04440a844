package faults_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// What the input of a claimed node is made of cannot be read for longer than a worker
// tries: the node is given back, and no lease has to end before it runs.
func TestInputsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	l, _, proxy := bench(t, queue.Config{})
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	mine, err := queue.NewClient(rdb, queue.Config{Prefix: l.Prefix, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mine.Close() })
	w, err := worker.New(mine, worker.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begun, hold := make(chan struct{}, 2), make(chan struct{})
	part := cyclone.NewStep("part", func(_ context.Context, n int) (int, error) {
		begun <- struct{}{}
		<-hold
		return n + 1, nil
	})
	w.Register(part)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	b := workflow.New("two")
	last := workflow.Run(b, "last", part, workflow.Run(b, "first", part, workflow.Value(1)))
	run, err := workflow.EnqueueFor(t.Context(), l.Client(), last)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	rule := proxy.Add(faultproxy.Rule{Command: "HMGET", Times: faultproxy.Always, Fault: faultproxy.DropReply()})
	close(hold)
	l.Until("the node has been given back", func() bool {
		stats, err := l.Client().Stats(t.Context(), 1)
		return err == nil && stats.Totals[cyclone.EventReleased] > 0
	})
	rule.Remove()
	limit, stop := context.WithTimeout(t.Context(), worker.DefaultLease/2)
	defer stop()
	if out, err := run.Wait(limit); err != nil || out != 3 {
		t.Errorf("the run returned %d (%v), want 3", out, err)
	}
	stats, err := l.Client().Stats(t.Context(), 1)
	if err != nil || stats.Totals[cyclone.EventLost] != 0 || rule.Hits() < 2 {
		t.Errorf("totals %v (%v), %d calls cut; want no lease lost", stats.Totals, err, rule.Hits())
	}
}
