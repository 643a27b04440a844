package cyclone

import (
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// Permanent marks err as one that another attempt cannot help: a handler that
// returns it has its step discarded at once. It returns nil when err is nil;
// errors.Is and errors.As see through it.
func Permanent(err error) error { return retry.Permanent(err) }

// Snooze returns an error with which a handler puts its step back for d. It uses
// up no attempt: the next claim starts the same one. A d of zero or less is a
// permanent failure.
func Snooze(d time.Duration) error { return retry.Snooze(d) }

// RetryAfter marks err so that the next try comes after d instead of after the
// policy's delay; d of zero or less means at once. The failure still counts. It
// returns nil when err is nil; errors.Is and errors.As see through it.
func RetryAfter(err error, d time.Duration) error { return retry.After(err, d) }
