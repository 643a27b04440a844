package conformance_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

// failing is a task handler that always fails.
func failing(v *lab.Visits) cyclone.Handler[string, string] {
	return cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
		v.Add(ctx)
		return "", errBoom
	})
}

// exhaust runs a task and an action to their ends by the default policies and
// returns the tries and waits of each.
func exhaust(l *lab.Lab, cfg worker.Config) (task, action *lab.Visits) {
	l.Helper()
	task, action = l.Visits(), l.Visits()
	taskDef, actionDef := cyclone.NewTask("task", failing(task)), fails(action, 1000)
	l.Start(cfg, taskDef, actionDef)
	ids := []cyclone.RunID{lab.EnqueueTask(l, taskDef, ""), lab.Enqueue(l, actionDef, "")}
	l.Pass(6 * time.Minute)
	for _, id := range ids {
		if state := l.State(id); state != cyclone.StepExhausted {
			l.Errorf("run %v is %s, want discarded", id, state)
		}
	}
	return task, action
}

// near reports whether each gap is its wait, give or take the jitter.
func near(gaps, waits []time.Duration, jitter float64) bool {
	return slices.EqualFunc(gaps, waits, func(gap, wait time.Duration) bool {
		slack := time.Duration(float64(wait) * jitter)
		return gap >= wait-slack-time.Millisecond && gap <= wait+slack+20*time.Millisecond
	})
}

func TestSpec_R01_DefaultPolicyOfTasks(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		task, action := exhaust(l, worker.Config{})
		if got := task.Attempts(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			l.Errorf("a task has tries %v, want 1 to 4", got)
		}
		if gaps := task.Gaps(); !near(gaps, []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}, 0.2) {
			l.Errorf("a task waits %v, want 5s, 10s and 30s give or take a fifth", gaps)
		}
		if got := action.Attempts(); !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			l.Errorf("an action has attempts %v, want 1 to 5", got)
		}
	})
}

// The environment is the process's, so this test runs alone.
func TestSpec_R01_EnvironmentSetsThePolicyOfTasks(t *testing.T) {
	t.Setenv("ENGINE__RETRY__MAX_ATTEMPTS", "3")
	t.Setenv("ENGINE__RETRY__DELAYS", "2s,7s")
	t.Setenv("ENGINE__RETRY__JITTER", "0")
	t.Run("applies", func(t *testing.T) {
		lab.BubbleAlone(t, func(l *lab.Lab) {
			task, action := exhaust(l, worker.Config{})
			if got := task.Attempts(); !slices.Equal(got, []int{1, 2, 3}) {
				l.Errorf("a task has tries %v, want 1 to 3", got)
			}
			if gaps := task.Gaps(); !near(gaps, []time.Duration{2 * time.Second, 7 * time.Second}, 0) {
				l.Errorf("a task waits %v, want exactly 2s and 7s", gaps)
			}
			if got := action.Attempts(); len(got) != 5 {
				l.Errorf("an action has attempts %v, want 1 to 5: the variables are for tasks", got)
			}
		})
	})
	t.Run("config wins", func(t *testing.T) {
		lab.BubbleAlone(t, func(l *lab.Lab) {
			task, _ := exhaust(l, worker.Config{Retry: cyclone.RetryPolicy{MaxAttempts: 2}})
			if got := task.Attempts(); !slices.Equal(got, []int{1, 2}) {
				l.Errorf("a task has tries %v, want 1 and 2", got)
			}
		})
	})
}

func TestSpec_R01_MalformedVariableStopsTheProgram(t *testing.T) {
	for name, value := range map[string]string{
		"ENGINE__RETRY__MAX_ATTEMPTS": "four", "ENGINE__RETRY__DELAYS": "5s,10", "ENGINE__RETRY__JITTER": "1.5",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			lab.BubbleAlone(t, func(l *lab.Lab) {
				if _, err := worker.New(l.Client(), worker.Config{}); err == nil || !strings.Contains(err.Error(), name) {
					l.Errorf("%s=%s: error %v, want one that names the variable", name, value, err)
				}
			})
		})
	}
}

func TestSpec_R02_DelaysByRetryTheLastRepeats(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		delays := []time.Duration{time.Second, 20 * time.Second}
		w := l.Prepare(worker.Config{})
		w.NewTask("task", failing(v), cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 5, Delays: delays}))
		w.Go()
		lab.EnqueueTask(l, cyclone.DeclareTask[string, string]("task"), "")
		l.Pass(2 * time.Minute)
		gaps := v.Gaps()
		if !near(gaps, []time.Duration{delays[0], delays[1], delays[1], delays[1]}, 0.2) {
			l.Errorf("waits %v, want 1s, then 20s, give or take a fifth", gaps)
		}
		if len(gaps) == 4 && gaps[1] == gaps[2] && gaps[2] == gaps[3] {
			l.Error("the delays do not vary")
		}
	})
}

func TestSpec_R03_MaxAttemptsOfATaskCountsTheFirstTry(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		w := l.Prepare(worker.Config{})
		w.NewTask("create-account", failing(v), cyclone.Retry(cyclone.RetryPolicy{
			MaxAttempts: 3, Delays: []time.Duration{time.Millisecond},
		}))
		w.Go()
		id := lab.EnqueueTask(l, cyclone.DeclareTask[string, string]("create-account"), "")
		s := l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2, 3}) || s.Failures != 3 {
			l.Errorf("tries %v and %d failures, want 3", got, s.Failures)
		}
	})
}

func TestSpec_R03_ZeroFieldsTakeTheDefault(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		w := l.Prepare(worker.Config{})
		w.NewTask("delays-only", failing(v), cyclone.Retry(cyclone.RetryPolicy{Delays: []time.Duration{time.Millisecond}}))
		w.NewTask("attempts-only", failing(l.Visits()), cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 2}))
		w.Go()
		id := lab.EnqueueTask(l, cyclone.DeclareTask[string, string]("delays-only"), "")
		l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			l.Errorf("without MaxAttempts: tries %v, want 4", got)
		}
		before := l.Now()
		id = lab.EnqueueTask(l, cyclone.DeclareTask[string, string]("attempts-only"), "")
		due := l.UntilState(id, cyclone.StepRetrying).Due
		if wait := due.Sub(before); wait < 4*time.Second || wait > 8*time.Second {
			l.Errorf("without Delays: the first wait is %v, want 5s give or take a fifth", wait)
		}
	})
}

func TestSpec_R03_BadDelaysAreRejected(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, -time.Second} {
		err := panics(func() {
			cyclone.NewTask("task", failing(nil), cyclone.Retry(cyclone.RetryPolicy{Delays: []time.Duration{time.Second, d}}))
		})
		if err == nil || !strings.Contains(err.Error(), "delays[1]") {
			t.Errorf("a delay of %v: %v, want a panic that names it", d, err)
		}
	}
	if err := (retry.Policy{Delays: []time.Duration{0}}).Validate(); err == nil {
		t.Error("a delay of zero is valid")
	}
}

// panics returns the error with which fn panics, or nil.
func panics(fn func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			var ok bool
			if err, ok = v.(error); !ok {
				err = errors.New("panic without an error")
			}
		}
	}()
	fn()
	return nil
}
