package cyclone

import "github.com/cyclone-queue/cyclone/internal/wire"

// RetryOption is an option of an operator's retry of discarded steps.
type RetryOption interface {
	ApplyRetry(*wire.Reopen)
}

// RetryAdditionalAttempts gives a re-opened step n more attempts, on top of those
// it has used up; n must be 1 to 10,000. Without it a step gets one.
func RetryAdditionalAttempts(n int) RetryOption { return additionalAttempts(n) }

type additionalAttempts int

func (n additionalAttempts) ApplyRetry(r *wire.Reopen) {
	r.Additional, r.AdditionalSet = int(n), true
}

// RetryReason is kept in the step's history; up to 1024 bytes.
func RetryReason(reason string) RetryOption { return retryReason(reason) }

type retryReason string

func (s retryReason) ApplyRetry(r *wire.Reopen) { r.Reason = string(s) }
