package main

import (
	"math"
	"slices"
)

// spread is the middle and the ends of one figure's values over all rounds.
type spread struct {
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples"`
}

// spreadOf returns nil when there is nothing to summarize.
func spreadOf(values []float64) *spread {
	if len(values) == 0 {
		return nil
	}
	return &spread{
		Median:  quantile(values, 0.5),
		Min:     slices.Min(values),
		Max:     slices.Max(values),
		Samples: values,
	}
}

// quantile returns the q-quantile of values by linear interpolation between the
// two nearest ranks, and NaN for no values. It leaves values as they are.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
