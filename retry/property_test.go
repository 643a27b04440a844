package retry_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/retry"
)

// anyDuration draws ordinary durations and the ends of the range alike.
func anyDuration() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.SampledFrom([]time.Duration{math.MinInt64, -1, 0, 1, retry.MaxDelay, retry.MaxDelay + 1, math.MaxInt64}),
		rapid.Map(rapid.Int64Range(1, int64(2*time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(0, 1),
		rapid.Float64(),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.5, 0, 0.2, 1}),
	)
}

func anyRule() *rapid.Generator[retry.Rule] {
	return rapid.Custom(func(t *rapid.T) retry.Rule {
		rule := retry.Rule{
			MaxAttempts: rapid.OneOf(rapid.IntRange(-1, 20), rapid.Int()).Draw(t, "max"),
			Delays:      rapid.SliceOfN(anyDuration(), 0, 10).Draw(t, "delays"),
			Jitter:      anyFloat().Draw(t, "jitter"),
		}
		if rapid.Bool().Draw(t, "has backoff") {
			d := anyDuration().Draw(t, "backoff")
			rule.Backoff = func(int) time.Duration { return d }
		}
		return rule
	})
}

func anyError() *rapid.Generator[error] {
	return rapid.Custom(func(t *rapid.T) error {
		err := errors.New("ordinary")
		d := anyDuration().Draw(t, "marked delay")
		for range rapid.IntRange(0, 3).Draw(t, "wraps") {
			switch rapid.IntRange(0, 3).Draw(t, "marker") {
			case 0:
				err = retry.Permanent(err)
			case 1:
				err = retry.After(err, d)
			case 2:
				err = errors.Join(retry.Snooze(d), err)
			case 3:
				mark := retry.Mark{Outcome: retry.Outcome(rapid.Byte().Draw(t, "outcome")), Delay: d, Code: "odd"}
				err = retry.WithMark(err, mark)
			}
		}
		return err
	})
}

// checkDecision holds what is true of every decision, whatever the arguments.
func checkDecision(t interface{ Fatalf(string, ...any) }, rule retry.Rule, ordinal int, err error, dice float64) {
	d := retry.Decide(rule, ordinal, err, dice)
	limit := min(rule.MaxAttempts, retry.MaxAttemptsLimit)
	if limit < 1 {
		limit = retry.DefaultMaxAttempts
	}
	switch {
	case d.Delay < 0 || d.Delay > retry.MaxDelay:
		t.Fatalf("%+v: delay out of range", d)
	case (err == nil) != (d.Outcome == retry.OutcomeComplete):
		t.Fatalf("%+v: completes with error %v", d, err)
	case d.Counts != (d.Outcome == retry.OutcomeRetry || d.Outcome == retry.OutcomeDiscard):
		t.Fatalf("%+v: only failures count", d)
	case d.Counts != (d.Code != ""):
		t.Fatalf("%+v: exactly failures have a code", d)
	case d.Outcome == retry.OutcomeRetry && ordinal >= limit:
		t.Fatalf("%+v: retried after attempt %d of %d", d, ordinal, limit)
	case d.Outcome == retry.OutcomeSnooze && d.Delay <= 0:
		t.Fatalf("%+v: snoozed for nothing", d)
	case (d.Outcome == retry.OutcomeDiscard || d.Outcome == retry.OutcomeComplete) && d.Delay != 0:
		t.Fatalf("%+v: an end has no delay", d)
	case d.Fault != nil && (rule.Backoff == nil || d.Outcome != retry.OutcomeRetry):
		t.Fatalf("%+v: a fault without a backoff that was asked", d)
	}
	if again := retry.Decide(rule, ordinal, err, dice); again.Delay != d.Delay || again.Outcome != d.Outcome {
		t.Fatalf("%+v, then %+v: not pure", d, again)
	}
}

func TestDecideIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var err error
		if rapid.Bool().Draw(t, "fails") {
			err = anyError().Draw(t, "err")
		}
		ordinal := rapid.OneOf(rapid.IntRange(-1, 20), rapid.Int()).Draw(t, "ordinal")
		checkDecision(t, anyRule().Draw(t, "rule"), ordinal, err, anyFloat().Draw(t, "dice"))
	})
}

func TestJitterStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(1, int64(retry.MaxDelay)/2).Draw(t, "base"))
		jitter := rapid.Float64Range(0, 1).Draw(t, "jitter")
		rule := retry.Rule{MaxAttempts: 3, Delays: []time.Duration{base}, Jitter: jitter}
		wait := func(dice float64) time.Duration { return retry.Decide(rule, 1, errors.New("x"), dice).Delay }

		spread := time.Duration(float64(base) * jitter)
		low, high := rapid.Float64Range(0, 1).Draw(t, "dice"), rapid.Float64Range(0, 1).Draw(t, "more dice")
		if low > high {
			low, high = high, low
		}
		switch {
		case wait(0) < base-spread || wait(0.9999999) > base+spread:
			t.Fatalf("%v to %v is wider than %v ± %v", wait(0), wait(0.9999999), base, spread)
		case wait(0.5) != base:
			t.Fatalf("middling dice give %v, want %v", wait(0.5), base)
		case wait(low) > wait(high):
			t.Fatalf("higher dice give a shorter wait: %v > %v", wait(low), wait(high))
		}
	})
}

func TestExponentialGrowsToItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, limit := anyDuration().Draw(t, "first"), anyDuration().Draw(t, "limit")
		attempt := rapid.OneOf(rapid.IntRange(-1, 70), rapid.Int()).Draw(t, "attempt")
		backoff := retry.Exponential(first, limit)
		d := backoff(attempt)
		if d < 0 || d > retry.MaxDelay || (limit >= 0 && d > limit) {
			t.Fatalf("Exponential(%v, %v)(%d) = %v", first, limit, attempt, d)
		}
		if attempt < math.MaxInt && backoff(attempt+1) < d {
			t.Fatalf("attempt %d waits %v, the next one %v", attempt, d, backoff(attempt+1))
		}
	})
}
