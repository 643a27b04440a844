package retry

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The variables that [FromEnv] reads.
const (
	// EnvMaxAttempts holds the tries in total, the first one included: "4".
	EnvMaxAttempts = "ENGINE__RETRY__MAX_ATTEMPTS"
	// EnvDelays holds the delay before each retry: "5s,10s,30s,1m,3m,10m,30m,1h".
	EnvDelays = "ENGINE__RETRY__DELAYS"
	// EnvJitter holds the jitter, from 0 to 1: "0.2".
	EnvJitter = "ENGINE__RETRY__JITTER"
)

// FromEnv reads the default policy of tasks from the environment; pass
// [os.LookupEnv]. What is not set stays zero, and jitterSet tells whether
// jitter was given, since 0 is a good value for it. A value that is malformed,
// out of range or empty is an error; the error names every such variable.
func FromEnv(lookup func(string) (string, bool)) (p Policy, jitter float64, jitterSet bool, err error) {
	var bad []error
	read := func(name string, parse func(string) error) bool {
		text, ok := lookup(name)
		if !ok {
			return false
		}
		if err := parse(strings.TrimSpace(text)); err != nil {
			bad = append(bad, fmt.Errorf("%s=%q: %w", name, text, err))
		}
		return true
	}
	read(EnvMaxAttempts, func(s string) (err error) { p.MaxAttempts, err = parseAttempts(s); return })
	read(EnvDelays, func(s string) (err error) { p.Delays, err = parseDelays(s); return })
	jitterSet = read(EnvJitter, func(s string) (err error) { jitter, err = parseJitter(s); return })
	if len(bad) > 0 {
		return Policy{}, 0, false, errors.Join(bad...)
	}
	return p, jitter, jitterSet, nil
}

func parseAttempts(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxAttemptsLimit {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", MaxAttemptsLimit)
	}
	return n, nil
}

func parseDelays(s string) ([]time.Duration, error) {
	var delays []time.Duration
	for item := range strings.SplitSeq(s, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(item))
		if err != nil {
			return nil, fmt.Errorf("must be durations with commas between them, like 5s,1m: %w", err)
		}
		delays = append(delays, d)
	}
	if err := ValidateDelays(delays); err != nil {
		return nil, err
	}
	return delays, nil
}

func parseJitter(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 1 {
		return 0, errors.New("must be a number from 0 to 1")
	}
	return x, nil
}
