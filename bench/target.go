package main

import (
	"fmt"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
)

// subject says which of a figure's values a target judges.
type subject uint8

const (
	noTarget    subject = iota // the row informs, nothing is promised
	medianRatio                // median over the rounds of Cyclone ÷ floor
	medianValue                // median over the rounds of Cyclone's value
	worstValue                 // the worst round of Cyclone
)

// target is a bound that a figure has to keep.
type target struct {
	of     subject
	atMost bool // else at least
	bound  float64
}

func (t target) String() string {
	sign := "≥"
	if t.atMost {
		sign = "≤"
	}
	switch t.of {
	case medianRatio:
		return fmt.Sprintf("%s %g × floor", sign, t.bound)
	case medianValue:
		return fmt.Sprintf("%s %s", sign, figures.Number(t.bound))
	case worstValue:
		return fmt.Sprintf("always %s %s", sign, figures.Number(t.bound))
	default:
		return ""
	}
}

// met judges; known is false where there is no target or no value.
func (t target) met(cyclone, ratio *figures.Spread) (met, known bool) {
	var value float64
	switch {
	case t.of == medianRatio && ratio != nil:
		value = ratio.Median
	case t.of == medianValue && cyclone != nil:
		value = cyclone.Median
	case t.of == worstValue && cyclone != nil && t.atMost:
		value = cyclone.Max
	case t.of == worstValue && cyclone != nil:
		value = cyclone.Min
	default:
		return false, false
	}
	if t.atMost {
		return value <= t.bound, true
	}
	return value >= t.bound, true
}
