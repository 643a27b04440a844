package conformance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

var errBoom = errors.New("boom")

// calm workers seldom call: where hours pass, each call costs real time.
var calm = worker.Config{Lease: time.Hour, Heartbeat: 20 * time.Minute, Fallback: 10 * time.Minute}

// soon makes retries follow at once.
var soon = cyclone.WithBackoff(func(int) time.Duration { return 0 })

// fails is an action that fails the first n times.
func fails(v *lab.Visits, n int, opts ...cyclone.DefinitionOption) *cyclone.Action[string] {
	return cyclone.NewAction("fails", func(ctx cyclone.Context, _ string) error {
		if v.Add(ctx) <= n {
			return errBoom
		}
		return nil
	}, opts...)
}

func TestSpec_C01_OrdinaryErrorIsRetried(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 1, soon)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		v.Until(2)
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2}) {
			l.Errorf("attempts %v, want 1 and 2", got)
		}
	})
}

func TestSpec_C02_FiveAttemptsByDefault(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 100, soon)
		limits := make(chan int, 1)
		step := cyclone.NewStep("limit", func(ctx cyclone.Context, _ string) (int, error) {
			limits <- ctx.MaxAttempts()
			return 0, nil
		})
		l.Start(worker.Config{}, action, step)
		id := lab.Enqueue(l, action, "")
		stored := l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			l.Errorf("attempts %v, want 1 to 5", got)
		}
		if stored.Failures != 5 || len(stored.History) != 5 {
			l.Errorf("%d failures with %d records are stored, want 5", stored.Failures, len(stored.History))
		}
		if _, err := cyclone.EnqueueStep(context.Background(), l.Client(), step, ""); err != nil {
			l.Fatal(err)
		}
		if limit := <-limits; limit != 5 {
			l.Errorf("a step's MaxAttempts is %d, want 5", limit)
		}
	})
}

func TestSpec_C03_DefaultWaitsGrowToAnHour(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		const attempts = 12
		v := l.Visits()
		action := fails(v, attempts, cyclone.WithMaxAttempts(attempts))
		l.Start(calm, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(6 * time.Hour)
		if state := l.State(id); state != cyclone.StepExhausted {
			l.Fatalf("state %s after %d attempts, want discarded", state, len(v.All()))
		}
		want := []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute,
			10 * time.Minute, 30 * time.Minute, time.Hour, time.Hour, time.Hour, time.Hour}
		varied := false
		for i, gap := range v.Gaps() {
			// The claim follows the due time by a millisecond or two.
			if gap < want[i]*8/10 || gap > want[i]*12/10+10*time.Millisecond {
				l.Errorf("wait %d is %v, want %v give or take a fifth", i+1, gap, want[i])
			}
			varied = varied || gap.Round(10*time.Millisecond) != want[i]
		}
		if !varied {
			l.Error("no wait has any jitter")
		}
	})
}

// The wait of the first retry as the server has it.
func TestSpec_C03_FirstWaitIsAFewSeconds(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		action := fails(l.Visits(), 1)
		l.Start(worker.Config{}, action)
		before := l.Now()
		id := lab.Enqueue(l, action, "")
		due := l.UntilState(id, cyclone.StepRetrying).Due
		if early, late := before.Add(4*time.Second), l.Now().Add(6*time.Second); due.Before(early.Truncate(time.Millisecond)) || due.After(late) {
			l.Errorf("due at %v, want %v to %v", due, early, late)
		}
	})
}

func TestSpec_C04_HandlersAreTyped(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		type order struct {
			Item  string `json:"item"`
			Count int    `json:"count"`
		}
		got := make(chan order, 1)
		action := cyclone.NewAction("act", func(_ cyclone.Context, in order) error { got <- in; return nil })
		step := cyclone.NewStep("double", func(_ context.Context, in order) (order, error) {
			in.Count *= 2
			return in, nil
		})
		l.Start(worker.Config{}, action, step)
		lab.Enqueue(l, action, order{"nail", 3})
		if in := <-got; in != (order{"nail", 3}) {
			l.Errorf("the action got %+v", in)
		}
		run, err := cyclone.EnqueueStep(context.Background(), l.Client(), step, order{"screw", 4})
		if err != nil {
			l.Fatal(err)
		}
		if out, err := run.Wait(l.Context()); err != nil || out != (order{"screw", 8}) {
			l.Errorf("the step returned %+v (%v)", out, err)
		}
	})
}

func TestSpec_C05_AttemptCountsFromOne(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 3, soon)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		v.Until(4)
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			l.Errorf("attempts %v, want 1 to 4", got)
		}
	})
}

func TestSpec_C07_MaxAttemptsOfTheEnqueueWins(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 100, soon, cyclone.WithMaxAttempts(2))
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2}) {
			l.Errorf("by the definition: attempts %v, want 1 and 2", got)
		}
		id = lab.Enqueue(l, action, "", cyclone.WithMaxAttempts(3))
		l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts()[2:]; !slices.Equal(got, []int{1, 2, 3}) {
			l.Errorf("by the enqueue: attempts %v, want 1 to 3", got)
		}
	})
}

func TestSpec_C09_OneAttemptMeansNoRetry(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 100, soon)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "", cyclone.WithMaxAttempts(1))
		l.UntilState(id, cyclone.StepExhausted)
		if n := len(v.All()); n != 1 {
			l.Errorf("%d executions, want 1", n)
		}
	})
}

func TestSpec_C10_BackoffGetsTheFailedOrdinal(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 3, cyclone.WithBackoff(func(attempt int) time.Duration { return time.Duration(attempt) * time.Minute }))
		l.Start(worker.Config{}, action)
		lab.Enqueue(l, action, "")
		l.Pass(7 * time.Minute)
		var waits []time.Duration
		for _, gap := range v.Gaps() {
			waits = append(waits, gap.Round(time.Second))
		}
		if want := []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute}; !slices.Equal(waits, want) {
			l.Errorf("waits %v, want %v", v.Gaps(), want)
		}
	})
}
