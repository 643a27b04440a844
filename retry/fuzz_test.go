package retry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// FuzzDecide holds the rules of checkDecision for arguments that a fuzzer picks.
func FuzzDecide(f *testing.F) {
	f.Add(5, int64(5*time.Second), int64(0), 0.2, 1, uint8(1), int64(time.Minute), 0.5)
	f.Add(1, int64(-1), int64(1<<62), 1.0, 1<<40, uint8(2), int64(-1), 0.0)
	f.Add(0, int64(0), int64(-1), -1.0, -1, uint8(4), int64(1<<62), 2.0)
	f.Fuzz(func(t *testing.T, limit int, entry, backoff int64, jitter float64, ordinal int, markers uint8, delay int64, dice float64) {
		rule := retry.Rule{MaxAttempts: limit, Jitter: jitter}
		if entry != 0 {
			rule.Delays = []time.Duration{time.Duration(entry), time.Duration(delay)}
		}
		if backoff != 0 {
			rule.Backoff = func(attempt int) time.Duration { return time.Duration(backoff) * time.Duration(attempt) }
		}
		checkDecision(t, rule, ordinal, fuzzedError(markers, time.Duration(delay)), dice)
	})
}

// fuzzedError wraps an error by the bits of markers; without any it is nil.
func fuzzedError(markers uint8, d time.Duration) error {
	if markers == 0 {
		return nil
	}
	err := errors.New("ordinary")
	if markers&2 != 0 {
		err = retry.Permanent(err)
	}
	if markers&4 != 0 {
		err = retry.After(err, d)
	}
	if markers&8 != 0 {
		err = errors.Join(retry.Snooze(d), err)
	}
	if markers&16 != 0 {
		err = retry.WithMark(err, retry.Mark{Outcome: retry.Outcome(markers >> 5), Delay: d, Fixed: true})
	}
	return err
}
