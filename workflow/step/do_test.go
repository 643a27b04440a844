package step_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// counter counts the runs of step functions by name.
type counter map[string]int

// step returns a step function that fails with the given errors first.
func (n counter) step(name string, errs ...error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		n[name]++
		if n[name] <= len(errs) {
			return "", errs[n[name]-1]
		}
		return "result of " + name, nil
	}
}

func TestSpec_R07_RecordedResultComesBack(t *testing.T) {
	t.Parallel()
	ran := counter{}
	failing := 2 // attempts of the handler, after the step
	k := newTask(t)
	handler := func(ctx context.Context) error {
		got, err := step.Do(ctx, "charge", ran.step("charge"))
		if err != nil || got != "result of charge" {
			t.Errorf("got %q, %v", got, err)
		}
		if failing--; failing >= 0 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	for range 3 {
		k.attempt(handler)
	}
	if ran["charge"] != 1 {
		t.Errorf("the function ran %d times", ran["charge"])
	}
	if diff := cmp.Diff([]string{"r:charge#1"}, k.kept()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestSpec_R04_StepsFollowThePolicyOfTheirTask(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	began := k.now
	err := k.run(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", ran.step("charge", io.EOF, io.EOF))
		return err
	})
	if err != nil || ran["charge"] != 3 {
		t.Errorf("after %d runs: %v", ran["charge"], err)
	}
	if waited := time.Duration(k.now-began) * time.Millisecond; waited != 61*time.Second {
		t.Errorf("waited %v, want 1s and 1m", waited)
	}
}

func TestSpec_R05_RetryOverridesThePolicyForOneStep(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	err := k.run(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", ran.step("charge", io.EOF, io.EOF, io.EOF, io.EOF), step.Retry(step.RetryPolicy{MaxAttempts: 5}))
		return err
	})
	if err != nil || ran["charge"] != 5 || k.attempts != 5 {
		t.Errorf("after %d runs in %d attempts: %v", ran["charge"], k.attempts, err)
	}
	began := k.now
	err = k.run(func(ctx context.Context) error {
		_, err := step.Do(ctx, "other", ran.step("other", io.EOF), step.Retry(step.RetryPolicy{Delays: []time.Duration{time.Hour}}))
		return err
	})
	if err != nil || k.now-began != time.Hour.Milliseconds() {
		t.Errorf("waited %d ms: %v", k.now-began, err)
	}
}

func TestSpec_R06_EveryStepCountsItsOwnTries(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	seen := 0
	err := k.run(func(ctx context.Context) error {
		if _, err := step.Do(ctx, "reserve", ran.step("reserve", io.EOF, io.EOF)); err != nil {
			return err
		}
		_, err := step.Do(ctx, "charge", ran.step("charge", io.EOF, io.EOF, errors.New("card declined")))
		var failed *step.Error
		if !errors.As(err, &failed) {
			return fmt.Errorf("charge: %w", err)
		}
		seen++
		if failed.Step != "charge" || failed.Occurrence != 1 || failed.Attempts != 3 || failed.Code != retry.CodeError || failed.Err.Error() != "card declined" {
			t.Errorf("got %+v", failed)
		}
		// Undo, recorded like any other step.
		if _, err := step.Do(ctx, "release", ran.step("release", io.EOF)); err != nil {
			return err
		}
		return err
	})
	if diff := cmp.Diff(counter{"reserve": 3, "charge": 3, "release": 2}, ran); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if seen != 2 {
		t.Errorf("the failure came back %d times, want 2", seen)
	}
	d := retry.Decide(retry.Rule{}, 1, err, 0)
	if d.Outcome != retry.OutcomeDiscard || d.Code != retry.CodeError {
		t.Errorf("a handler that returns it: %+v", d)
	}
	if err.Error() != "step charge failed after 3 tries: card declined" {
		t.Errorf("it says %q", err)
	}
	if diff := cmp.Diff([]string{"r:charge#1", "r:release#1", "r:reserve#1", "t:charge#1", "t:release#1", "t:reserve#1"}, k.kept()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestSpec_R08_PermanentFailsTheStepAtOnce(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	for range 2 {
		e := k.attempt(func(ctx context.Context) error {
			_, err := step.Do(ctx, "charge", ran.step("charge", cyclone.Permanent(io.EOF)))
			return err
		})
		var failed *step.Error
		if !errors.As(e.err, &failed) || failed.Code != retry.CodePermanent || failed.Attempts != 1 || ran["charge"] != 1 {
			t.Errorf("got %v after %d runs", e.err, ran["charge"])
		}
	}
}

func TestSpec_R09_PanicAndUnencodableOutputFailAtOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		run  func(context.Context) error
		code string
		text string
	}{
		"panic": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) (int, error) { panic("oops") })
			return err
		}, retry.CodePanic, "oops"},
		"panic with nil": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) (int, error) { panic(nil) })
			return err
		}, retry.CodePanic, "nil"},
		"channel": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) (chan int, error) { return make(chan int), nil })
			return err
		}, retry.CodeDecode, "output"},
		"interface that cannot be decoded": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) (io.Reader, error) { return strings.NewReader("x"), nil })
			return err
		}, retry.CodeDecode, "output"},
		"too large": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) ([]byte, error) { return make([]byte, wire.MaxPayload+1), nil })
			return err
		}, retry.CodeDecode, "limit of 1048576 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTask(t)
			e := k.attempt(tt.run)
			var failed *step.Error
			if !errors.As(e.err, &failed) || failed.Code != tt.code || !strings.Contains(failed.Error(), tt.text) {
				t.Fatalf("got %v", e.err)
			}
			if again := k.attempt(tt.run); again.err == nil || again.err.Error() != e.err.Error() {
				t.Errorf("then %v", again.err)
			}
			if tt.code == retry.CodePanic && !strings.Contains(k.log.String(), "do_test.go") {
				t.Errorf("the log has no stack: %s", k.log.String())
			}
		})
	}
}

func TestSpec_R10_RetryAfterReplacesTheDelayAndCounts(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]time.Duration{30 * time.Second: 60 * time.Second, 0: 0, -time.Second: 0} {
		ran, k := counter{}, newTask(t)
		began := k.now
		limited := cyclone.RetryAfter(io.EOF, delay)
		err := k.run(func(ctx context.Context) error {
			_, err := step.Do(ctx, "charge", ran.step("charge", limited, limited, limited))
			return err
		})
		var failed *step.Error
		if !errors.As(err, &failed) || failed.Attempts != 3 || ran["charge"] != 3 {
			t.Errorf("%v: got %v after %d runs", delay, err, ran["charge"])
		}
		if waited := time.Duration(k.now-began) * time.Millisecond; waited != want {
			t.Errorf("%v: waited %v, want %v", delay, waited, want)
		}
	}
}

func TestSnoozeInAStepDoesNotCount(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	later := cyclone.Snooze(time.Hour)
	began := k.now
	err := k.run(func(ctx context.Context) error {
		_, err := step.Do(ctx, "poll", ran.step("poll", later, io.EOF, later, later, io.EOF, later))
		return err
	})
	if err != nil || ran["poll"] != 7 || k.now-began != (4*time.Hour+61*time.Second).Milliseconds() {
		t.Errorf("after %d runs and %d ms: %v", ran["poll"], k.now-began, err)
	}
	e := newTask(t).attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "poll", counter{}.step("poll", later))
		return err
	})
	if len(e.pauses) != 1 || e.pauses[0].State != wire.SuspendedSnoozed {
		t.Errorf("pauses %+v", e.pauses)
	}
	e = newTask(t).attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "poll", counter{}.step("poll", cyclone.Snooze(0)))
		return err
	})
	if d := retry.Decide(retry.Rule{}, 1, e.err, 0); d.Code != retry.CodeSnoozeInvalid {
		t.Errorf("snooze of nothing: %v", e.err)
	}
}

func TestOutermostMarkerOfAHandlersErrorWins(t *testing.T) {
	t.Parallel()
	e := newTask(t).attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", counter{}.step("charge", cyclone.Permanent(io.EOF)))
		return cyclone.RetryAfter(fmt.Errorf("handler: %w", err), time.Minute)
	})
	if d := retry.Decide(retry.Rule{}, 1, e.err, 0); d.Outcome != retry.OutcomeRetry || d.Delay != time.Minute {
		t.Errorf("got %+v", d)
	}
}

func TestNamesUsedTwiceAreTwoSteps(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	n := 0
	handler := func(ctx context.Context) error {
		for want := 1; want <= 3; want++ {
			got, err := step.Do(ctx, "next", func(context.Context) (int, error) { n++; return n, nil })
			if err != nil || got != want {
				t.Errorf("use %d: got %d, %v", want, got, err)
			}
		}
		_, err := step.Do(ctx, "next", func(context.Context) (int, error) { return 0, cyclone.Permanent(io.EOF) })
		return err
	}
	for range 2 {
		if e := k.attempt(handler); e.err == nil || e.err.Error() != "step next#4 failed: EOF" {
			t.Errorf("got %v", e.err)
		}
	}
}

func TestResultIsWhatLaterAttemptsSee(t *testing.T) {
	t.Parallel()
	type result struct {
		Kept   string
		hidden string
	}
	k := newTask(t)
	for range 2 {
		k.attempt(func(ctx context.Context) error {
			got, err := step.Do(ctx, "x", func(context.Context) (result, error) { return result{"kept", "hidden"}, nil })
			if err != nil || got != (result{Kept: "kept"}) {
				t.Errorf("got %+v, %v", got, err)
			}
			return nil
		})
	}
}

func TestFailuresKeepWhatTheyMatch(t *testing.T) {
	t.Parallel()
	for _, target := range []error{context.DeadlineExceeded, context.Canceled, step.ErrTimeout, cyclone.ErrNotFound, cyclone.ErrCancelled} {
		k := newTask(t)
		for range 2 {
			e := k.attempt(func(ctx context.Context) error {
				_, err := step.Do(ctx, "x", func(context.Context) (int, error) {
					return 0, cyclone.Permanent(fmt.Errorf("call: %w", target))
				})
				return err
			})
			if !errors.Is(e.err, target) || errors.Is(e.err, io.EOF) {
				t.Errorf("%v: got %v", target, e.err)
			}
		}
	}
	coded := newTask(t).attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "x", func(context.Context) (int, error) {
			return 0, retry.WithMark(io.EOF, retry.Mark{Outcome: retry.OutcomeDiscard, Code: "card_declined"})
		})
		return err
	})
	var failed *step.Error
	if !errors.As(coded.err, &failed) || failed.Code != "card_declined" {
		t.Errorf("got %v", coded.err)
	}
}

// What has failed is tried again after an operator has opened the task again; what was
// recorded is not.
func TestANewGenerationTriesFailuresAgain(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	handler := func(ctx context.Context) error {
		if _, err := step.Do(ctx, "reserve", ran.step("reserve")); err != nil {
			return err
		}
		_, err := step.Do(ctx, "charge", ran.step("charge", io.EOF, io.EOF, io.EOF, io.EOF))
		return err
	}
	if err := k.run(handler); err == nil {
		t.Fatal("no failure")
	}
	k.generation = 1
	if err := k.run(handler); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(counter{"reserve": 1, "charge": 5}, ran); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	k.generation = 2
	if err := k.run(handler); err != nil || ran["charge"] != 5 {
		t.Errorf("a success of an earlier generation does not count: %v", err)
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	ok := func(context.Context) (int, error) { return 1, nil }
	tests := map[string]struct {
		run    func(ctx context.Context) error
		target error
		text   string
	}{
		"name": {func(ctx context.Context) error { _, err := step.Do(ctx, "a b", ok); return err }, nil, `step "a b": name`},
		"nested": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "outer", func(ctx context.Context) (int, error) { return step.Do(ctx, "inner", ok) })
			return err
		}, nil, ""},
		"outside": {func(context.Context) error { _, err := step.Do(t.Context(), "x", ok); return err }, step.ErrNoTask, ""},
		"policy": {func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", ok, step.Retry(step.RetryPolicy{Delays: []time.Duration{0}}))
			return err
		}, nil, "delays[0]"},
		"no function": {func(ctx context.Context) error { _, err := step.Do[int](ctx, "x", nil); return err }, nil, "nil"},
		"timeout": {func(ctx context.Context) error {
			_, err := step.WaitSignal[int](ctx, "x", -1)
			return err
		}, nil, "timeout -1ns"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTask(t).attempt(tt.run)
			if e.err == nil || tt.target != nil && !errors.Is(e.err, tt.target) || !strings.Contains(e.err.Error(), tt.text) {
				t.Errorf("got %v", e.err)
			}
			if d := retry.Decide(retry.Rule{}, 1, e.err, 0); d.Outcome != retry.OutcomeDiscard {
				t.Errorf("another attempt is made: %+v", d)
			}
		})
	}
}

func TestNestedSaysSo(t *testing.T) {
	t.Parallel()
	var inner error
	newTask(t).attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "outer", func(ctx context.Context) (int, error) {
			_, inner = step.Do(ctx, "inner", func(context.Context) (int, error) { return 1, nil })
			return 0, inner
		})
		return err
	})
	if !errors.Is(inner, step.ErrNested) || !strings.Contains(inner.Error(), `step "inner"`) {
		t.Errorf("got %v", inner)
	}
}

func TestTooManyRecords(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.limit = 2
	e := k.attempt(func(ctx context.Context) error {
		for {
			if _, err := step.Do(ctx, "x", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
		}
	})
	if e.err == nil || !strings.Contains(e.err.Error(), "2 records") || len(k.entries) != 2 {
		t.Errorf("got %v with %v", e.err, k.kept())
	}
}
