package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
)

// bench is a client behind the fault proxy.
func bench(t *testing.T, cfg queue.Config) (*lab.Lab, *queue.Client, *faultproxy.Proxy) {
	t.Helper()
	server := testserver.Real(t)
	l := lab.New(t, server.Server)
	proxy, err := faultproxy.Start(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	cfg.Prefix, cfg.Logger = server.Prefix, l.Logger()
	client, err := queue.NewClient(rdb, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return l, client, proxy
}

// F-23: the caller's context ends while the enqueue is on its way. The caller is
// told that the outcome is unknown, and the same request again is safe.
func TestContextEndsOnTheWay(t *testing.T) {
	t.Parallel()
	l, client, proxy := bench(t, queue.Config{})
	job := cyclone.DeclareAction[work]("job")
	key := cyclone.WithRequestKey("order 7")
	if _, err := cyclone.EnqueueAction(t.Context(), client, job, work{}); err != nil { // opens the session
		t.Fatal(err)
	}
	for name, fault := range map[string]faultproxy.Fault{
		"executed":     faultproxy.DelayReply(700 * time.Millisecond),
		"not executed": faultproxy.Delay(700 * time.Millisecond),
	} {
		rule := proxy.Add(faultproxy.Rule{Script: luascripts.Enqueue.SHA, Fault: fault})
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		_, err := cyclone.EnqueueAction(ctx, client, job, work{}, key)
		cancel()
		if !errors.Is(err, cyclone.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want ErrUnknownOutcome and the context's", name, err)
		}
		run, err := cyclone.EnqueueAction(t.Context(), client, job, work{}, key)
		if err != nil {
			t.Errorf("%s: again: %v", name, err)
		}
		l.Until("the first call has ended", func() bool { return rule.Hits() == 1 })
		again, err := cyclone.EnqueueAction(t.Context(), client, job, work{}, key)
		if err != nil || again.ID() != run.ID() {
			t.Errorf("%s: the request made runs %v and %v (%v)", name, run.ID(), again.ID(), err)
		}
	}
	if n := l.Count(); n != 2 {
		t.Errorf("%d steps are stored, want one of each", n)
	}
}

// An enqueue that is never answered ends with ErrUnknownOutcome after the time for
// sending again, and not with an endless wait.
func TestNeverAnswered(t *testing.T) {
	t.Parallel()
	l, client, proxy := bench(t, queue.Config{ResendFor: time.Second})
	job := cyclone.DeclareAction[work]("job")
	if _, err := cyclone.EnqueueAction(t.Context(), client, job, work{}); err != nil {
		t.Fatal(err)
	}
	rule := proxy.Add(faultproxy.Rule{Times: faultproxy.Always, Fault: faultproxy.DropReply()})
	began := time.Now()
	run, err := cyclone.EnqueueAction(t.Context(), client, job, work{})
	if !errors.Is(err, cyclone.ErrUnknownOutcome) || time.Since(began) > 10*time.Second {
		t.Errorf("run %v, error %v after %v; want ErrUnknownOutcome after a second", run, err, time.Since(began))
	}
	rule.Remove()
	if n := l.Count(); n != 2 {
		t.Errorf("%d steps are stored; the unanswered one was executed once", n)
	}
	if _, err := cyclone.EnqueueAction(t.Context(), client, job, work{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// F-29: a large batch of which a part has been executed when the connection is cut
// is stored exactly once, and each request has its answer.
func TestBatchCutInTheMiddle(t *testing.T) {
	t.Parallel()
	for nth := 1; nth <= 5; nth++ {
		for name, fault := range map[string]faultproxy.Fault{
			"lost reply": faultproxy.DropReply(), "cut request": faultproxy.CutRequest(20_000), "cut reply": faultproxy.CutReply(10),
		} {
			t.Run(fmt.Sprintf("%s %d", name, nth), func(t *testing.T) {
				t.Parallel()
				const n = 1000 // four scripts or more
				l, client, proxy := bench(t, queue.Config{})
				rule := proxy.Add(faultproxy.Rule{Script: luascripts.Enqueue.SHA, Nth: nth, Fault: fault})
				job := cyclone.DeclareAction[work]("job")
				requests := make([]cyclone.Request, n)
				for i := range requests {
					requests[i] = job.With(work{Key: fmt.Sprint(i)})
				}
				runs, err := cyclone.EnqueueMany(t.Context(), client, requests...)
				if err != nil {
					t.Fatal(err)
				}
				seen := map[cyclone.RunID]bool{}
				for _, run := range runs {
					seen[run.ID()] = true
				}
				if rule.Hits() != 1 || len(seen) != n || l.Count() != n {
					t.Errorf("%d faults, %d runs, %d steps stored; want 1, %d and %d", rule.Hits(), len(seen), l.Count(), n, n)
				}
			})
		}
	}
}
