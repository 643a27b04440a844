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
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// A signal sent again under its key is one; without a key it is two, in their order.
func TestSignalsAreDeliveredOnceAndInOrder(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			var all []string
			for range 4 {
				word, err := step.WaitSignal[string](ctx, "word", time.Hour)
				if err != nil {
					return "", err
				}
				all = append(all, word)
			}
			_, err := step.WaitSignal[string](ctx, "word", 100*time.Millisecond)
			if !errors.Is(err, step.ErrTimeout) {
				return "", cyclone.Permanent(fmt.Errorf("a fifth signal: %w", err))
			}
			return strings.Join(all, " "), nil
		})
		w := l.Prepare(worker.Config{})
		w.Register(def)
		id := lab.EnqueueTask(l, def, "")
		send := func(payload string, opts ...queue.SignalOption) {
			if err := l.Client().Signal(context.Background(), id, "word", payload, opts...); err != nil {
				l.Error(err)
			}
		}
		send("a", queue.SignalKey("1"))
		send("a again", queue.SignalKey("1"))
		send("b")
		w.Go()
		l.UntilState(id, cyclone.StepWaiting)
		send("c", queue.SignalKey("2"))
		send("c again", queue.SignalKey("2"))
		send("a once more", queue.SignalKey("1"))
		send("b")
		mustReturn(l, id, "a b c b")
		mustBeGone(l, id)
	})
}

// Many waits of one name take one signal each, whoever is first.
func TestEachSignalGoesToOneNode(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 6
		list := cyclone.NewStep("list", func(_ context.Context, in []int) (int, error) {
			sum := 0
			for _, v := range in {
				sum += v
			}
			return sum, nil
		})
		def := cyclone.NewTask("taker", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
			return step.WaitSignal[int](ctx, "number", 0)
		}))
		b := workflow.New("takers")
		var refs []workflow.Ref[int]
		for i := range n {
			refs = append(refs, workflow.Run(b, fmt.Sprintf("t%d", i), def, workflow.Value(""), cyclone.WithQueue([]string{"default", "other"}[i%2])))
		}
		sum := workflow.Run(b, "sum", list, workflow.All(refs...))
		cfg := worker.Config{Queues: worker.Queues("default", "other")}
		l.Start(cfg, list, def)
		l.Start(cfg, list, def)
		run, err := workflow.EnqueueFor(context.Background(), l.Client(), sum)
		if err != nil {
			l.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { mustSignal(l, run.ID(), "number", 1<<i) })
		}
		wg.Wait()
		ctx, cancel := patiently(l)
		defer cancel()
		if got, err := run.Wait(ctx); err != nil || got != 1<<n-1 {
			l.Errorf("got %b, %v", got, err)
		}
	})
}

// A wait ends as exactly one of signal or timeout, in nodes and in tasks, and what it
// ended as stays.
func TestSignalAgainstTimeout(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const runs, patience = 12, 120 * time.Millisecond
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			word, err := step.WaitSignal[string](ctx, "word", patience)
			if errors.Is(err, step.ErrTimeout) {
				word = "timeout"
			}
			again, err := step.Do(ctx, "again", func(context.Context) (string, error) { return word, nil })
			if err != nil || ctx.Attempt() == 1 {
				return "", errors.Join(err, errBoom)
			}
			if word != again {
				return "", cyclone.Permanent(fmt.Errorf("%s, and before %s", word, again))
			}
			return word, nil
		}, quick)
		show := cyclone.NewStep("show", func(_ context.Context, word string) (string, error) { return word, nil })
		b := workflow.New("race")
		shown := workflow.Run(b, "show", show, workflow.WaitSignal[string](b, "word", patience), anyway)
		l.Start(worker.Config{}, def, show)
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				node, err := workflow.EnqueueFor(context.Background(), l.Client(), shown)
				if err != nil {
					l.Error(err)
					return
				}
				lone := lab.EnqueueTask(l, def, "")
				<-time.After(patience - 20*time.Millisecond + time.Duration(i)*4*time.Millisecond)
				for id, none := range map[cyclone.RunID]string{node.ID(): "", lone: "timeout"} {
					sent := l.Client().Signal(context.Background(), id, "word", "signal")
					got, err := await(l, id)
					if err != nil || got != none && (got != "signal" || sent != nil) {
						l.Errorf("the wait ended as %q, %v; the signal: %v", got, err, sent)
					}
				}
			})
		}
		wg.Wait()
	})
}

// A wait node whose timeout passes is discarded with its code, and the run goes by
// what depends on it.
func TestTimeoutOfAWaitNode(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(nil)
		b := workflow.New("order")
		c.do(b, "remind", workflow.After(workflow.Wait(b, "approval", 50*time.Millisecond)), anyway)
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		if err := mustWait(l, id); err != nil {
			l.Error(err)
		}
		if s := infoOf(l, id, "approval"); s.State != cyclone.StepExhausted || s.Code != retry.CodeTimeout {
			l.Errorf("%+v", s)
		}
		if err := l.Client().Signal(context.Background(), id, "approval", nil); !errors.Is(err, queue.ErrFinished) {
			l.Errorf("a signal to a finished run: %v", err)
		}
	})
}

// Signals that nobody takes are bounded, and refused ones leave no trace.
func TestRefusedSignals(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		b := workflow.New("order")
		workflow.Wait(b, "go", 0)
		id := lab.EnqueueRun(l, b)
		before := l.Leftovers()
		refused := func(want error, id cyclone.RunID, name string, payload any) {
			l.Helper()
			err := l.Client().Signal(ctx, id, name, payload)
			if err == nil || want != nil && !errors.Is(err, want) {
				l.Errorf("a signal %q to run %v: %v, want %v", name, id, err, want)
			}
		}
		refused(cyclone.ErrNotFound, id+1, "go", nil)
		refused(cyclone.ErrNotFound, 0, "go", nil)
		refused(nil, id, "no name", nil)
		refused(nil, id, "large", strings.Repeat("x", 300<<10))
		if after := l.Leftovers(); !slices.Equal(before, after) {
			l.Errorf("refused signals changed\n%q to\n%q", before, after)
		}
		for i := range 1000 {
			if err := l.Client().Signal(ctx, id, "unheard", i); err != nil {
				l.Fatal(err)
			}
		}
		refused(queue.ErrSignalsFull, id, "unheard", nil)
		refused(queue.ErrSignalsFull, id, "go", nil)
		if got := l.Run(id).Fields["gn"]; got != "1000" {
			l.Errorf("%s signals are queued", got)
		}
	})
}
