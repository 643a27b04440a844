package retry

import "time"

// Constant returns a backoff that always waits d.
func Constant(d time.Duration) func(attempt int) time.Duration {
	return func(int) time.Duration { return clamp(d) }
}

// Exponential returns a backoff that waits first after attempt 1 and twice as
// long after each further one, never longer than limit. It cannot overflow.
func Exponential(first, limit time.Duration) func(attempt int) time.Duration {
	first, limit = clamp(first), clamp(limit)
	return func(attempt int) time.Duration {
		d := first
		for ; attempt > 1 && d > 0 && d < limit; attempt-- {
			d *= 2 // d < limit <= MaxDelay, whose double still fits
		}
		return min(d, limit)
	}
}
