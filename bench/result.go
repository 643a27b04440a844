package main

import (
	"github.com/cyclone-queue/cyclone/bench/internal/figures"
)

// result is one figure over all its rounds. A side that has no such value is nil.
type result struct {
	Case    string          `json:"case"`
	Metric  metric          `json:"metric"`
	Title   string          `json:"title"`
	Floor   *figures.Spread `json:"floor,omitempty"`
	Cyclone *figures.Spread `json:"cyclone,omitempty"`
	Ratio   *figures.Spread `json:"ratio,omitempty"` // Cyclone ÷ floor, round by round
	Target  string          `json:"target,omitempty"`
	Met     *bool           `json:"met,omitempty"`
}

// summarize reads every figure of a case from its rounds.
func summarize(c benchCase, all rounds) []result {
	results := make([]result, len(c.figures))
	for i, f := range c.figures {
		floor, cyclone := column(all.floor, f.metric), column(all.cyclone, f.metric)
		r := result{
			Case: c.name, Metric: f.metric, Title: f.title, Target: f.target.String(),
			Floor: figures.SpreadOf(floor), Cyclone: figures.SpreadOf(cyclone), Ratio: figures.SpreadOf(figures.Paired(cyclone, floor)),
		}
		if met, known := f.target.met(r.Cyclone, r.Ratio); known {
			r.Met = &met
		}
		results[i] = r
	}
	return results
}

// column collects one metric of all samples that have it.
func column(samples []sample, m metric) []float64 {
	var values []float64
	for _, s := range samples {
		if value, ok := s[m]; ok {
			values = append(values, value)
		}
	}
	return values
}
