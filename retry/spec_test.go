package retry_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/retry"
)

func TestSpec_C03_DefaultWaitGrowsToAnHour(t *testing.T) {
	t.Parallel()
	rule := retry.Rule{MaxAttempts: 100, Jitter: retry.DefaultJitter}
	first := retry.Decide(rule, 1, io.EOF, 0.5).Delay
	if first < 2*time.Second || first > 10*time.Second {
		t.Errorf("first wait %v, want a few seconds", first)
	}
	for attempt := 2; attempt < 100; attempt++ {
		before := retry.Decide(rule, attempt-1, io.EOF, 0.5).Delay
		if d := retry.Decide(rule, attempt, io.EOF, 0.5).Delay; d < before {
			t.Errorf("wait after attempt %d is %v, less than %v before", attempt, d, before)
		}
	}
	if last := retry.Decide(rule, 99, io.EOF, 0.5).Delay; last != time.Hour {
		t.Errorf("last wait %v, want 1h", last)
	}
	if low, high := retry.Decide(rule, 1, io.EOF, 0).Delay, retry.Decide(rule, 1, io.EOF, 0.999).Delay; low == high {
		t.Errorf("the wait does not vary with the dice: %v", low)
	}
}

func TestSpec_C09_OneAttemptMeansNoRetry(t *testing.T) {
	t.Parallel()
	want := retry.Decision{Outcome: retry.OutcomeDiscard, Code: retry.CodeError, Counts: true}
	if got := retry.Decide(retry.Rule{MaxAttempts: 1}, 1, io.EOF, 0); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSpec_C10_BackoffGetsTheFailedOrdinal(t *testing.T) {
	t.Parallel()
	var asked []int
	rule := retry.Rule{MaxAttempts: 4, Jitter: 1, Backoff: func(attempt int) time.Duration {
		asked = append(asked, attempt)
		return time.Duration(attempt) * time.Minute
	}}
	for attempt := 1; attempt <= 4; attempt++ {
		d := retry.Decide(rule, attempt, io.EOF, 0.9)
		if want := time.Duration(attempt) * time.Minute; attempt < 4 && d.Delay != want {
			t.Errorf("wait after attempt %d is %v, want exactly %v", attempt, d.Delay, want)
		}
	}
	if diff := cmp.Diff([]int{1, 2, 3}, asked); diff != "" {
		t.Errorf("backoff was asked about (-want +got):\n%s", diff)
	}
}

func TestSpec_C11_SnoozeCountsNoAttempt(t *testing.T) {
	t.Parallel()
	want := retry.Decision{Outcome: retry.OutcomeSnooze, Delay: time.Minute}
	for _, ordinal := range []int{1, 5, 1000} {
		if got := retry.Decide(retry.Rule{MaxAttempts: 1, Jitter: 1}, ordinal, retry.Snooze(time.Minute), 0); got != want {
			t.Errorf("attempt %d: got %+v, want %+v", ordinal, got, want)
		}
	}
}

func TestSpec_C12_SnoozeOfNothingIsPermanent(t *testing.T) {
	t.Parallel()
	want := retry.Decision{Outcome: retry.OutcomeDiscard, Code: retry.CodeSnoozeInvalid, Counts: true}
	for _, d := range []time.Duration{0, -1, -time.Hour} {
		if got := retry.Decide(retry.Rule{}, 1, retry.Snooze(d), 0); got != want {
			t.Errorf("Snooze(%v): got %+v, want %+v", d, got, want)
		}
	}
}

// badEmail is an error with a type, to be found through a marker.
type badEmail struct{ address string }

func (e *badEmail) Error() string { return "bad address " + e.address }

func TestSpec_C14_PermanentDiscardsAndIsTransparent(t *testing.T) {
	t.Parallel()
	cause := &badEmail{"nobody"}
	err := fmt.Errorf("validate: %w", retry.Permanent(fmt.Errorf("check: %w", cause)))
	want := retry.Decision{Outcome: retry.OutcomeDiscard, Code: retry.CodePermanent, Counts: true}
	if got := retry.Decide(retry.Rule{MaxAttempts: 100}, 1, err, 0); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var found *badEmail
	if !errors.Is(err, cause) || !errors.As(err, &found) || found != cause {
		t.Errorf("errors.Is and errors.As do not see %v in %v", cause, err)
	}
	if retry.Permanent(nil) != nil || retry.After(nil, time.Second) != nil {
		t.Error("a marker of nil must be nil")
	}
}

func TestSpec_R02_DelaysByRetryTheLastRepeats(t *testing.T) {
	t.Parallel()
	delays := []time.Duration{time.Second, 10 * time.Second}
	rule := retry.Rule{MaxAttempts: 100, Delays: delays, Jitter: 0.2}
	for attempt, base := range []time.Duration{delays[0], delays[1], delays[1], delays[1]} {
		for _, dice := range []float64{0, 0.25, 0.5, 0.75, 0.999999} {
			got := retry.Decide(rule, attempt+1, io.EOF, dice).Delay
			if low, high := base*8/10, base*12/10; got < low || got > high {
				t.Errorf("retry %d, dice %v: wait %v, want %v to %v", attempt+1, dice, got, low, high)
			}
		}
		if got := retry.Decide(rule, attempt+1, io.EOF, 0.5).Delay; got != base {
			t.Errorf("retry %d with middling dice: wait %v, want %v", attempt+1, got, base)
		}
	}
}

func TestSpec_R10_RetryAfterReplacesTheDelayAndCounts(t *testing.T) {
	t.Parallel()
	rule := retry.Rule{MaxAttempts: 3, Jitter: 1}
	err := fmt.Errorf("send: %w", retry.After(io.EOF, 30*time.Second))
	want := retry.Decision{Outcome: retry.OutcomeRetry, Delay: 30 * time.Second, Code: retry.CodeError, Counts: true}
	if got := retry.Decide(rule, 2, err, 0.1); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := retry.Decide(rule, 3, err, 0.1); got.Outcome != retry.OutcomeDiscard || !got.Counts {
		t.Errorf("on the last try: got %+v, want it discarded and counted", got)
	}
	if got := retry.Decide(rule, 1, retry.After(io.EOF, -time.Second), 0.1); got.Outcome != retry.OutcomeRetry || got.Delay != 0 {
		t.Errorf("negative delay: got %+v, want a retry at once", got)
	}
	if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), io.EOF.Error()) {
		t.Errorf("%v hides its cause", err)
	}
}
