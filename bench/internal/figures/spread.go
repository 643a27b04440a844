// Package figures sums up what was measured and prints it.
package figures

import (
	"math"
	"slices"
)

// Spread is the middle and the ends of one figure's values over all rounds.
type Spread struct {
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples"`
}

// SpreadOf returns nil when there is nothing to summarize.
func SpreadOf(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	return &Spread{
		Median:  Quantile(values, 0.5),
		Min:     slices.Min(values),
		Max:     slices.Max(values),
		Samples: values,
	}
}

// Quantile returns the q-quantile of values by linear interpolation between the
// two nearest ranks, and NaN for no values. It leaves values as they are.
func Quantile(values []float64, q float64) float64 {
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

// Paired divides round by round, as long as both sides have a value.
func Paired(over, under []float64) []float64 {
	var ratios []float64
	for i := range min(len(over), len(under)) {
		if under[i] != 0 {
			ratios = append(ratios, over[i]/under[i])
		}
	}
	return ratios
}
