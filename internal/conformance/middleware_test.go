package conformance_test

import (
	"context"
	"errors"
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
