package cyclone

import (
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// WithDelay makes the step start d after its enqueue at the earliest, by Redis'
// clock; d must be 0 to 100 years. It excludes WithStartAt.
func WithDelay(d time.Duration) StartOption { return atStart[delay]{delay(d)} }

type delay time.Duration

func (d delay) set(o *wire.Options) {
	o.Set |= wire.FieldDelay
	o.Delay = time.Duration(d)
}

// WithStartAt makes the step start at t at the earliest, by Redis' clock and in
// whole milliseconds, rounded up. A time in the past means at once; the zero time
// and times from the year 2150 on are rejected. It excludes WithDelay.
func WithStartAt(t time.Time) StartOption { return atStart[startAt]{startAt(t)} }

type startAt time.Time

func (t startAt) set(o *wire.Options) {
	o.Set |= wire.FieldStartAt
	o.StartAt = time.Time(t)
}

// WithExpiry gives up on the step when it has not started d after its enqueue: it
// is then discarded with the code "expired". d must be a millisecond or more, and
// longer than a WithDelay beside it. An attempt that has started is not touched.
func WithExpiry(d time.Duration) StartOption { return atStart[expiry]{expiry(d)} }

type expiry time.Duration

func (d expiry) set(o *wire.Options) {
	o.Set |= wire.FieldExpiry
	o.Expiry = time.Duration(d)
}
