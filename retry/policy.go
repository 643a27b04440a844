package retry

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Limits and defaults of every policy.
const (
	// DefaultMaxAttempts is the number of attempts of an action or a step.
	DefaultMaxAttempts = 5
	// DefaultTaskAttempts is the number of tries of a task.
	DefaultTaskAttempts = 4
	// DefaultJitter is how far a delay of the table varies, either way.
	DefaultJitter = 0.2
	// MaxAttemptsLimit is the largest number of attempts that any policy may ask for.
	MaxAttemptsLimit = 10_000
	// MaxDelays is the largest number of entries of a delay table.
	MaxDelays = 64
	// MaxDelay is the longest wait, 100 years of 365 days. A longer one is cut
	// to it, so that a due time always stays within what is stored exactly.
	MaxDelay = 100 * 365 * 24 * time.Hour
)

// defaultDelays is the table that the package comment prints.
var defaultDelays = [...]time.Duration{
	5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 3 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
}

// DefaultDelays returns a fresh copy of the default table:
// 5s, 10s, 30s, 1m, 3m, 10m, 30m, 1h.
func DefaultDelays() []time.Duration { return slices.Clone(defaultDelays[:]) }

// Policy says how often a step is tried and how long it waits in between.
// The zero value of a field means the default of what the policy is used for.
type Policy struct {
	// MaxAttempts counts the first try. 1 means no retry.
	MaxAttempts int
	// Delays holds the wait before each retry; the last value repeats.
	// Each must be greater than zero. Every wait is varied by the jitter.
	Delays []time.Duration
}

// Validate returns nil, or one error that names every bad field with its limit.
// Zero fields are good: they mean the default.
func (p Policy) Validate() error {
	var bad []error
	if p.MaxAttempts < 0 || p.MaxAttempts > MaxAttemptsLimit {
		bad = append(bad, fmt.Errorf("max attempts %d: must be 1 to %d, or 0 for the default", p.MaxAttempts, MaxAttemptsLimit))
	}
	return errors.Join(append(bad, ValidateDelays(p.Delays))...)
}

// ValidateDelays returns nil, or one error that names every bad entry of a delay
// table: one that is not above zero or longer than [MaxDelay], or one too many.
func ValidateDelays(delays []time.Duration) error {
	var bad []error
	if len(delays) > MaxDelays {
		bad = append(bad, fmt.Errorf("delays: %d entries, must be at most %d", len(delays), MaxDelays))
	}
	for i, d := range delays {
		if d <= 0 || d > MaxDelay {
			bad = append(bad, fmt.Errorf("delays[%d] %v: must be above 0 and at most 100 years", i, d))
		}
	}
	return errors.Join(bad...)
}

// Rule is everything [Decide] needs to know about one step: a policy with its
// defaults filled in, and where the waits come from.
type Rule struct {
	// MaxAttempts counts the first try; anything below 1 means [DefaultMaxAttempts].
	MaxAttempts int
	// Delays is the table; an empty one means [DefaultDelays].
	Delays []time.Duration
	// Backoff, when set, is used instead of Delays. It gets the 1-based ordinal
	// of the attempt that failed, and its result is used without jitter.
	Backoff func(attempt int) time.Duration
	// Jitter is the part of a delay of the table by which it varies, either
	// way: 0 not at all, 1 between nothing and twice the delay.
	Jitter float64
}

// attempts is the limit that applies.
func (r Rule) attempts() int {
	if r.MaxAttempts < 1 {
		return DefaultMaxAttempts
	}
	return min(r.MaxAttempts, MaxAttemptsLimit)
}

// table returns the entry for the failed attempt; the last one repeats.
func (r Rule) table(attempt int) time.Duration {
	delays := r.Delays
	if len(delays) == 0 {
		delays = defaultDelays[:]
	}
	return clamp(delays[min(max(attempt, 1), len(delays))-1])
}

// vary spreads d over [d-d*jitter, d+d*jitter). Bad numbers are taken as the
// nearest good ones, so that the result is always a wait.
func vary(d time.Duration, jitter, dice float64) time.Duration {
	return clamp(d + time.Duration(float64(d)*unit(jitter)*(2*unit(dice)-1)))
}

// unit forces x into [0, 1]; not a number is 0.
func unit(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// clamp forces d into [0, MaxDelay].
func clamp(d time.Duration) time.Duration { return min(max(d, 0), MaxDelay) }
