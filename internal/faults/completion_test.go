package faults_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// F-21: Redis is in trouble for two seconds, exactly when steps are completed. The
// results are kept and sent again: each step completes once and soon, and no
// handler runs again.
func TestTroubleAtCompletion(t *testing.T) {
	t.Parallel()
	rule := func(f faultproxy.Fault) func(*faultproxy.Proxy) func() {
		return func(p *faultproxy.Proxy) func() {
			return p.Add(faultproxy.Rule{Times: faultproxy.Always, Fault: f}).Remove
		}
	}
	for name, begin := range map[string]func(*faultproxy.Proxy) (end func()){
		"LOADING":       rule(faultproxy.ErrorReply("LOADING Redis is loading the dataset in memory")),
		"READONLY":      rule(faultproxy.ErrorReply("READONLY You can't write against a read only replica.")),
		"an odd error":  rule(faultproxy.ErrorReply("ERR something is wrong")),
		"lost replies":  rule(faultproxy.DropReply()),
		"lost requests": rule(faultproxy.DropRequest()),
		"black hole":    rule(faultproxy.HangReply()),
		"nobody there": func(p *faultproxy.Proxy) func() {
			p.Refuse(true)
			return func() { p.Refuse(false) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trouble(t, begin)
		})
	}
}

func trouble(t *testing.T, begin func(*faultproxy.Proxy) (end func())) {
	t.Helper()
	const steps = 50
	server := testserver.Real(t)
	l := lab.New(t, server.Server)
	proxy, err := faultproxy.Start(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := queue.NewClient(rdb, queue.Config{Prefix: server.Prefix, Logger: l.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	w, err := worker.New(client, worker.Config{Lease: 30 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var entered atomic.Int64
	hold := make(chan struct{})
	action := cyclone.NewAction("job", func(cyclone.Context, string) error {
		entered.Add(1)
		<-hold
		return nil
	})
	w.Register(action)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}()
	for range steps {
		lab.Enqueue(l, action, "")
	}
	l.Until("all are running", func() bool { return entered.Load() == steps })

	end := begin(proxy)
	close(hold)
	<-time.After(2 * time.Second)
	if l.Count() == 0 {
		t.Log("the completions came through in spite of the trouble")
	}
	end()
	ended := time.Now()
	l.UntilEmpty()
	if took := time.Since(ended); took > 8*time.Second {
		t.Errorf("the steps were completed %v after the trouble", took)
	}
	if n := entered.Load(); n != steps {
		t.Errorf("%d executions of %d steps", n, steps)
	}
	stats, err := l.Client().Stats(t.Context(), 1)
	if err != nil || stats.Totals[cyclone.EventCompleted] != steps || stats.Totals[cyclone.EventLost] != 0 {
		t.Errorf("totals %v (%v), want %d completed and none lost", stats.Totals, err, steps)
	}
}
