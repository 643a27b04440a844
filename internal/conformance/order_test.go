package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// served records the inputs of a handler in their order.
type served struct {
	mu  sync.Mutex
	all []string
}

func (s *served) action(name string, opts ...cyclone.DefinitionOption) *cyclone.Action[string] {
	return cyclone.NewAction(name, func(_ cyclone.Context, in string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, in)
		return nil
	}, opts...)
}

func (s *served) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.all...)
}

// load enqueues n steps with the same input in one batch.
func load(l *lab.Lab, action *cyclone.Action[string], n int, in string, opts ...cyclone.EnqueueOption) {
	l.Helper()
	requests := make([]cyclone.Request, n)
	for i := range requests {
		requests[i] = action.With(in, opts...)
	}
	if _, err := cyclone.EnqueueMany(context.Background(), l.Client(), requests...); err != nil {
		l.Fatal(err)
	}
}

// count returns how many of the list are in.
func count(list []string, in string) (n int) {
	for _, s := range list {
		if s == in {
			n++
		}
	}
	return n
}

// A worker with one slot serves a queue in the order of its enqueues.
func TestQueueIsFirstInFirstOut(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var s served
		action := s.action("job")
		for i := range 50 {
			lab.Enqueue(l, action, fmt.Sprintf("%02d", i))
		}
		l.Start(worker.Config{Concurrency: 1}, action)
		l.UntilEmpty()
		for i, in := range s.list() {
			if in != fmt.Sprintf("%02d", i) {
				l.Fatalf("order %v", s.list())
			}
		}
	})
}

// High goes before Default before Low, and Low is not forgotten meanwhile.
func TestPriorities(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 100
		var s served
		action := s.action("job")
		load(l, action, n, "low", cyclone.WithPriority(cyclone.Low))
		load(l, action, n, "default")
		load(l, action, n, "high", cyclone.WithPriority(cyclone.High))
		l.Start(worker.Config{Concurrency: 1}, action)
		l.UntilEmpty()
		order := s.list()
		if len(order) != 3*n {
			l.Fatalf("%d executions, want %d", len(order), 3*n)
		}
		// Every sixteenth turn goes the other way round.
		if high := count(order[:n], "high"); high < n*85/100 || high == n {
			l.Errorf("%d of the first %d were high, want most and not all", high, n)
		}
		if low := count(order[:n], "low"); low == 0 || low > n*15/100 {
			l.Errorf("%d of the first %d were low, want a few", low, n)
		}
		if def := count(order[n:2*n], "default"); def < n*70/100 {
			l.Errorf("%d of the second %d were default, want most", def, n)
		}
	})
}

// Queues share the claims by their weights while all have work.
func TestWeights(t *testing.T) {
	for _, slots := range []int{1, 16} {
		t.Run(fmt.Sprintf("%d slots", slots), func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				const n = 400
				var s served
				action := s.action("job")
				load(l, action, n, "big", cyclone.WithQueue("big"))
				load(l, action, n, "small", cyclone.WithQueue("small"))
				l.Start(worker.Config{Concurrency: slots, Queues: []worker.Queue{{Name: "big", Weight: 3}, {Name: "small", Weight: 1}}}, action)
				l.UntilEmpty()
				if small := count(s.list()[:n], "small"); small < n*15/100 || small > n*36/100 {
					l.Errorf("%d of the first %d came from the small queue, want about a quarter", small, n)
				}
			})
		})
	}
}

// In strict order a later queue waits until the earlier ones are empty.
func TestStrictOrder(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 60
		var s served
		action := s.action("job")
		for _, name := range []string{"third", "second", "first"} {
			load(l, action, n, name, cyclone.WithQueue(name))
		}
		l.Start(worker.Config{Concurrency: 1, Strict: true, Queues: worker.Queues("first", "second", "third")}, action)
		l.UntilEmpty()
		for i, in := range s.list() {
			if want := []string{"first", "second", "third"}[i/n]; in != want {
				l.Fatalf("step %d came from %s, want %s", i, in, want)
			}
		}
	})
}

// The order is strict although the queues do not fit one turn.
func TestStrictOrderOfManyQueues(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n, each = 40, 5
		var s served
		action := s.action("job")
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("q%02d", i)
		}
		for _, i := range []int{39, 20, 0, 16, 15, 1} {
			load(l, action, each, names[i], cyclone.WithQueue(names[i]))
		}
		l.Start(worker.Config{Concurrency: 1, Strict: true, Queues: worker.Queues(names...)}, action)
		l.UntilEmpty()
		if order := s.list(); !slices.IsSorted(order) || len(order) != 6*each {
			l.Errorf("served %v", order)
		}
	})
}

// Due times of queues that are not in the same turn are kept all the same.
func TestDueTimesOfManyQueues(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 5, cyclone.WithMaxAttempts(6), cyclone.WithBackoff(func(int) time.Duration { return time.Second }))
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprintf("q%02d", i))
		}
		l.Start(worker.Config{Fallback: time.Hour, Queues: worker.Queues(names...)}, action)
		l.Pass(time.Second / 2)
		for _, name := range names {
			lab.Enqueue(l, action, "", cyclone.WithQueue(name))
			l.Pass(7 * time.Millisecond)
		}
		l.Pass(10 * time.Second)
		last := map[cyclone.RunID]time.Time{}
		for _, visit := range v.All() {
			if before, ok := last[visit.RunID]; ok {
				if gap := visit.At.Sub(before); gap < time.Second || gap > 1100*time.Millisecond {
					l.Errorf("attempt %d of run %v came after %v, want 1s", visit.Attempt, visit.RunID, gap)
				}
			}
			last[visit.RunID] = visit.At
		}
		if n := len(v.All()); n != 6*len(names) {
			l.Errorf("%d executions, want %d", n, 6*len(names))
		}
	})
}

// A queue's cap bounds how many of its steps run at once, and leaves the other
// slots to other queues.
func TestQueueCap(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var mu sync.Mutex
		running, most := map[string]int{}, map[string]int{}
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			mu.Lock()
			running[ctx.Queue()]++
			most[ctx.Queue()] = max(most[ctx.Queue()], running[ctx.Queue()])
			mu.Unlock()
			<-hold
			mu.Lock()
			running[ctx.Queue()]--
			mu.Unlock()
			return nil
		})
		load(l, action, 20, "", cyclone.WithQueue("capped"))
		load(l, action, 20, "", cyclone.WithQueue("open"))
		l.Start(worker.Config{Concurrency: 10, Queues: []worker.Queue{{Name: "capped", Max: 3}, {Name: "open"}}}, action)
		l.Until("all slots are taken", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return running["capped"]+running["open"] == 10 && running["capped"] == 3
		})
		close(hold)
		l.UntilEmpty()
		if most["capped"] != 3 {
			l.Errorf("%d of the capped queue at once, want 3", most["capped"])
		}
	})
}

// A worker may serve more queues than fit one turn.
func TestManyQueues(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 50
		var s served
		action := s.action("job")
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("q%d", i))
		}
		l.Start(worker.Config{Queues: worker.Queues(names...)}, action)
		for _, name := range names {
			lab.Enqueue(l, action, name, cyclone.WithQueue(name))
		}
		began := time.Now()
		l.UntilEmpty()
		if took := time.Since(began); took > 5*time.Second {
			l.Errorf("the queues were empty after %v", took)
		}
		if got := len(s.list()); got != n {
			l.Errorf("%d executions, want %d", got, n)
		}
	})
}

// Nothing is claimed from a paused queue; what runs goes on, and a resume is
// heard at once.
func TestPauseAndResume(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		v := l.Visits()
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx); len(v.All()) == 1 {
				<-hold
			}
			return nil
		})
		l.Start(worker.Config{Fallback: time.Hour, Queues: worker.Queues("default", "other")}, action)
		first := lab.Enqueue(l, action, "")
		v.Until(1)
		if err := l.Client().Pause(ctx, "default"); err != nil {
			l.Fatal(err)
		}
		paused := lab.Enqueue(l, action, "")
		other := lab.Enqueue(l, action, "", cyclone.WithQueue("other"))
		l.UntilGone(other)
		close(hold)
		l.UntilGone(first)
		if state := l.State(paused); state != cyclone.StepReady {
			l.Errorf("a step of the paused queue is %s, want ready", state)
		}
		if err := l.Client().Resume(ctx, "default"); err != nil {
			l.Fatal(err)
		}
		l.UntilGone(paused)
	})
}
