package retry_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// stepError fails for good but wraps what its last try returned.
type stepError struct{ err error }

func (e *stepError) Error() string { return "step: " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }
func (e *stepError) RetryMark() retry.Mark {
	return retry.Mark{Outcome: retry.OutcomeDiscard, Code: "step"}
}

// completing is a marker that makes no sense.
type completing struct{}

func (completing) Error() string         { return "odd" }
func (completing) RetryMark() retry.Mark { return retry.Mark{} }

func TestDecide(t *testing.T) {
	t.Parallel()
	seconds := []time.Duration{time.Second}
	tests := []struct {
		name    string
		rule    retry.Rule
		ordinal int
		err     error
		want    retry.Decision
	}{
		{
			name: "success",
			want: retry.Decision{Outcome: retry.OutcomeComplete},
		},
		{
			name: "ordinary error", rule: retry.Rule{Delays: seconds}, ordinal: 1, err: io.EOF,
			want: retry.Decision{Outcome: retry.OutcomeRetry, Delay: time.Second, Code: "error", Counts: true},
		},
		{
			name: "fifth attempt by default", rule: retry.Rule{}, ordinal: 5, err: io.EOF,
			want: retry.Decision{Outcome: retry.OutcomeDiscard, Code: "error", Counts: true},
		},
		{
			name: "attempt past the limit", rule: retry.Rule{MaxAttempts: 2}, ordinal: math.MaxInt, err: io.EOF,
			want: retry.Decision{Outcome: retry.OutcomeDiscard, Code: "error", Counts: true},
		},
		{
			name: "limit past the hard limit", rule: retry.Rule{MaxAttempts: math.MaxInt}, ordinal: retry.MaxAttemptsLimit, err: io.EOF,
			want: retry.Decision{Outcome: retry.OutcomeDiscard, Code: "error", Counts: true},
		},
		{
			name: "ordinal below one", rule: retry.Rule{Delays: seconds}, ordinal: math.MinInt, err: io.EOF,
			want: retry.Decision{Outcome: retry.OutcomeRetry, Delay: time.Second, Code: "error", Counts: true},
		},
		{
			name: "outermost marker wins over an inner delay", ordinal: 1,
			err:  &stepError{retry.After(io.EOF, time.Second)},
			want: retry.Decision{Outcome: retry.OutcomeDiscard, Code: "step", Counts: true},
		},
		{
			name: "outermost marker wins over an inner end", ordinal: 1,
			err:  retry.After(retry.Permanent(io.EOF), time.Minute),
			want: retry.Decision{Outcome: retry.OutcomeRetry, Delay: time.Minute, Code: "error", Counts: true},
		},
		{
			name: "first marker of joined errors wins", ordinal: 1,
			err:  errors.Join(io.EOF, retry.Permanent(io.EOF), retry.Snooze(time.Second)),
			want: retry.Decision{Outcome: retry.OutcomeDiscard, Code: "permanent", Counts: true},
		},
		{
			name: "code of a marker, delay of the rule", rule: retry.Rule{Delays: seconds}, ordinal: 1,
			err:  retry.WithMark(io.EOF, retry.Mark{Outcome: retry.OutcomeRetry, Code: retry.CodePanic}),
			want: retry.Decision{Outcome: retry.OutcomeRetry, Delay: time.Second, Code: "panic", Counts: true},
		},
		{
			name: "discard without a code", ordinal: 1,
			err:  retry.WithMark(io.EOF, retry.Mark{Outcome: retry.OutcomeDiscard}),
			want: retry.Decision{Outcome: retry.OutcomeDiscard, Code: "error", Counts: true},
		},
		{
			name: "an error never completes", rule: retry.Rule{Delays: seconds}, ordinal: 1, err: completing{},
			want: retry.Decision{Outcome: retry.OutcomeRetry, Delay: time.Second, Code: "error", Counts: true},
		},
		{
			name: "snooze beyond all bounds", ordinal: 1, err: retry.Snooze(math.MaxInt64),
			want: retry.Decision{Outcome: retry.OutcomeSnooze, Delay: retry.MaxDelay},
		},
		{
			name: "longest table entry with most jitter", rule: retry.Rule{Delays: []time.Duration{math.MaxInt64}, Jitter: math.Inf(1)},
			ordinal: 1, err: io.EOF,
			want: retry.Decision{Outcome: retry.OutcomeRetry, Delay: retry.MaxDelay, Code: "error", Counts: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := retry.Decide(tt.rule, tt.ordinal, tt.err, 0.999); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestDecideSurvivesTheBackoff(t *testing.T) {
	t.Parallel()
	// The second document's own example: its shift overflows at attempt 34.
	doubling := func(attempt int) time.Duration {
		d := time.Duration(1<<uint(attempt)) * time.Second
		if d > 5*time.Minute {
			return 5 * time.Minute
		}
		return d
	}
	tests := []struct {
		name    string
		backoff func(int) time.Duration
		attempt int
		want    time.Duration
		fault   string
	}{
		{"zero is at once", func(int) time.Duration { return 0 }, 1, 0, ""},
		{"too long is cut", func(int) time.Duration { return math.MaxInt64 }, 1, retry.MaxDelay, ""},
		{"doubling", doubling, 3, 8 * time.Second, ""},
		{"doubling, capped", doubling, 20, 5 * time.Minute, ""},
		{"doubling, overflowed", doubling, 34, time.Hour, "negative"},
		{"panic", func(int) time.Duration { panic("oops") }, 2, 10 * time.Second, "oops"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := retry.Decide(retry.Rule{MaxAttempts: 100, Backoff: tt.backoff}, tt.attempt, io.EOF, 0.5)
			if d.Outcome != retry.OutcomeRetry || d.Delay != tt.want {
				t.Errorf("got %+v, want a retry after %v", d, tt.want)
			}
			if (d.Fault != nil) != (tt.fault != "") || !strings.Contains(fmt.Sprint(d.Fault), tt.fault) {
				t.Errorf("fault %v, want one about %q", d.Fault, tt.fault)
			}
		})
	}
}

func TestMarkersPrintTheirCause(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"EOF":            retry.Permanent(retry.After(io.EOF, time.Second)),
		"snooze for 30s": retry.Snooze(30 * time.Second),
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if errors.Unwrap(retry.Snooze(time.Second)) != nil {
		t.Error("a snooze wraps nothing")
	}
}

func TestOutcomeString(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(retry.OutcomeComplete, retry.OutcomeRetry, retry.OutcomeSnooze, retry.OutcomeDiscard, retry.Outcome(9))
	if want := "complete retry snooze discard Outcome(9)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
