package client

import (
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// lateness sums up latencies in ns, which it sorts. It returns nil for none.
func lateness(ns []int64) *wire.Late {
	if len(ns) == 0 {
		return nil
	}
	slices.Sort(ns)
	at := func(q float64) float64 {
		rank := int(q * float64(len(ns)-1))
		return float64(ns[rank]) / float64(time.Millisecond)
	}
	return &wire.Late{Min: at(0), P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1)}
}
