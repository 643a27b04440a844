package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

type contextKey struct{}

// Middleware stands around handlers, the first outermost; what it adds to the
// context arrives, also behind a cyclone.Context.
func TestWorkMiddleware(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var mu sync.Mutex
		var order []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, s)
		}
		around := func(name string) worker.Middleware {
			return func(ctx cyclone.Context, next func(context.Context) error) error {
				note("before " + name)
				inner, cancel := context.WithTimeout(context.WithValue(ctx, contextKey{}, name), time.Hour)
				defer cancel()
				err := next(inner)
				note("after " + name)
				return err
			}
		}
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			_, limited := ctx.Deadline()
			value, _ := ctx.Value(contextKey{}).(string)
			if !limited || ctx.Attempt() != 1 || ctx.Meta("trace") != "t1" {
				note("stripped")
			}
			note("handler sees " + value)
			return nil
		})
		l.Start(worker.Config{Middleware: []worker.Middleware{around("outer"), around("inner")}}, action)
		l.UntilGone(lab.Enqueue(l, action, "", cyclone.WithMeta("trace", "t1")))
		want := []string{"before outer", "before inner", "handler sees inner", "after inner", "after outer"}
		if !slices.Equal(order, want) {
			l.Errorf("order %q, want %q", order, want)
		}
	})
}

// What middleware returns decides like a handler's result.
func TestWorkMiddlewareDecides(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, in string) error {
			v.Add(ctx)
			if in == "fails" {
				return errBoom
			}
			return nil
		}, soon)
		l.Start(worker.Config{Middleware: []worker.Middleware{func(ctx cyclone.Context, next func(context.Context) error) error {
			switch ctx.Meta("do") {
			case "refuse":
				return cyclone.Permanent(errBoom)
			case "forgive":
				_ = next(ctx)
				return nil
			case "strange":
				return next(context.Background())
			}
			return next(ctx)
		}}}, action)
		refused := lab.Enqueue(l, action, "", cyclone.WithMeta("do", "refuse"))
		l.UntilState(refused, cyclone.StepExhausted)
		if n := len(v.All()); n != 0 {
			l.Errorf("the handler was entered %d times although middleware refused", n)
		}
		l.UntilGone(lab.Enqueue(l, action, "fails", cyclone.WithMeta("do", "forgive")))
		if n := len(v.All()); n != 1 {
			l.Errorf("%d executions, want the forgiven one", n)
		}
		strange := lab.Enqueue(l, action, "", cyclone.WithMeta("do", "strange"))
		if s := l.UntilState(strange, cyclone.StepExhausted); s.History[0].Code != retry.CodePermanent || !strings.Contains(s.History[0].Error, "derived") {
			l.Errorf("with a foreign context: %+v", s.History)
		}
	})
}

// Middleware of the client adds to requests and may refuse them.
func TestEnqueueMiddleware(t *testing.T) {
	refusal := errors.New("not today")
	var mu sync.Mutex
	var order []string
	middleware := func(name string) func(queue.EnqueueFunc) queue.EnqueueFunc {
		return func(next queue.EnqueueFunc) queue.EnqueueFunc {
			return func(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				if ctx.Value(contextKey{}) == "refuse" {
					return nil, refusal
				}
				for i := range requests {
					requests[i] = requests[i].With(cyclone.WithMeta("by", name))
				}
				return next(ctx, requests...)
			}
		}
	}
	lab.Each(t, func(l *lab.Lab) {
		mu.Lock()
		order = nil
		mu.Unlock()
		l.Client()
		got := make(chan string, 1)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error { got <- ctx.Meta("by"); return nil })
		l.Start(worker.Config{}, action)
		lab.Enqueue(l, action, "")
		if by := <-got; by != "inner" {
			l.Errorf("meta by %q, want that of the inner middleware, which came last", by)
		}
		_, err := cyclone.EnqueueAction(context.WithValue(context.Background(), contextKey{}, "refuse"), l.Client(), action, "")
		if !errors.Is(err, refusal) {
			l.Errorf("error %v, want the middleware's", err)
		}
	}, lab.Configure(queue.Config{Middleware: []func(queue.EnqueueFunc) queue.EnqueueFunc{middleware("outer"), middleware("inner")}}))
}

// A run of many steps passes the middleware as one request; what is added to it
// reaches every node.
func TestEnqueueMiddlewareSeesRuns(t *testing.T) {
	refusal := errors.New("not today")
	middleware := func(next queue.EnqueueFunc) queue.EnqueueFunc {
		return func(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
			if !requests[0].Workflow() {
				return next(ctx, requests...)
			}
			if len(requests) != 1 || requests[0].Name() != "flow" {
				return nil, fmt.Errorf("%d requests for %q", len(requests), requests[0].Name())
			}
			traced := requests[0].With(cyclone.WithMeta("trace", "t1"))
			switch ctx.Value(contextKey{}) {
			case "refuse":
				return nil, refusal
			case "nothing":
				return nil, nil
			case "queue":
				traced = traced.With(cyclone.WithQueue("other"))
			case "nil":
				traced = traced.With(nil)
			case "unique":
				traced = traced.With(cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: cyclone.Reject}))
			case "replicas":
				traced = traced.With(cyclone.WaitReplicas(1))
			case "two":
				return next(ctx, traced, traced)
			case "twice":
				if _, err := next(ctx, traced); err != nil {
					return nil, err
				}
			}
			return next(ctx, traced)
		}
	}
	lab.Each(t, func(l *lab.Lab) {
		traces := make(chan string, 10)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			traces <- ctx.Node() + " " + ctx.Meta("trace") + ctx.Meta("own")
			return nil
		})
		l.Start(worker.Config{}, action)
		b := workflow.New("flow", cyclone.WithMeta("own", "!"))
		workflow.Do(b, "b", action, workflow.Value(""), workflow.After(workflow.Do(b, "a", action, workflow.Value(""))))
		enqueue := func(do string) (*cyclone.Run, error) {
			return b.Enqueue(context.WithValue(context.Background(), contextKey{}, do), l.Client())
		}
		for _, do := range []string{"", "twice", "unique"} {
			run, err := enqueue(do)
			if err != nil {
				l.Fatal(err)
			}
			if err := mustWait(l, run.ID()); err != nil {
				l.Error(err)
			}
			runs := 1
			if do == "twice" {
				runs = 2
			}
			var got []string
			for range 2 * runs {
				got = append(got, <-traces)
			}
			slices.Sort(got)
			if want := slices.Repeat([]string{"a t1!"}, runs); !slices.Equal(got, append(want, slices.Repeat([]string{"b t1!"}, runs)...)) {
				l.Errorf("%q: %q", do, got)
			}
		}
		for do, want := range map[string]string{
			"refuse": refusal.Error(), "nothing": "0 receipts for 1 request", "nil": "option is nil", "two": "pass it on alone",
			"queue": "flow: a run of many steps takes WithUnique, WithMeta, WithRetention and WaitReplicas, and no other option",
		} {
			if run, err := enqueue(do); run != nil || err == nil || !strings.Contains(err.Error(), "workflow: enqueue flow: ") || !strings.Contains(err.Error(), want) {
				l.Errorf("%s: run %v, error %v, want %q", do, run, err, want)
			}
		}
		run, err := enqueue("replicas")
		if run == nil || !errors.Is(err, cyclone.ErrNotReplicated) {
			l.Fatalf("run %v, error %v, want one that is not replicated", run, err)
		}
		if err := mustWait(l, run.ID()); err != nil {
			l.Error(err)
		}
		var bad *workflow.BuilderError
		if _, err := workflow.New("flow").Enqueue(context.Background(), l.Client()); !errors.As(err, &bad) {
			l.Errorf("got %v, want a BuilderError", err)
		}
	}, lab.Configure(queue.Config{Middleware: []func(queue.EnqueueFunc) queue.EnqueueFunc{middleware}, ReplicaTimeout: 10 * time.Millisecond}))
}

// OnFailure hears of each failure and each discard, with the attempt's context.
func TestOnFailure(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		type heard struct {
			worker.Failure
			attempt int
		}
		failures := make(chan heard, 10)
		action := returns(l.Visits(), errBoom, cyclone.Snooze(1), errBoom, cyclone.Permanent(errBoom))
		l.Start(worker.Config{OnFailure: func(ctx cyclone.Context, f worker.Failure) {
			failures <- heard{f, ctx.Attempt()}
		}}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilState(id, cyclone.StepExhausted)
		close(failures)
		attempt := 0
		for f := range failures {
			attempt++
			last := attempt == 3
			if f.RunID != id || f.Kind != "returns" || f.Queue != "default" || f.Attempt != attempt || f.attempt != attempt ||
				!errors.Is(f.Err, errBoom) || f.Discarded != last || (f.Code == retry.CodePermanent) != last {
				l.Errorf("failure %d: %+v", attempt, f)
			}
		}
		if attempt != 3 {
			l.Errorf("%d failures were heard, want 3", attempt)
		}
	})
}
