package main

// result is one figure over all its rounds. A side that has no such value is nil.
type result struct {
	Case    string  `json:"case"`
	Metric  metric  `json:"metric"`
	Title   string  `json:"title"`
	Floor   *spread `json:"floor,omitempty"`
	Cyclone *spread `json:"cyclone,omitempty"`
	Ratio   *spread `json:"ratio,omitempty"` // Cyclone ÷ floor, round by round
	Target  string  `json:"target,omitempty"`
	Met     *bool   `json:"met,omitempty"`
}

// summarize reads every figure of a case from its rounds.
func summarize(c benchCase, all rounds) []result {
	results := make([]result, len(c.figures))
	for i, f := range c.figures {
		floor, cyclone := column(all.floor, f.metric), column(all.cyclone, f.metric)
		r := result{
			Case: c.name, Metric: f.metric, Title: f.title, Target: f.target.String(),
			Floor: spreadOf(floor), Cyclone: spreadOf(cyclone), Ratio: spreadOf(paired(cyclone, floor)),
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

// paired divides round by round, as long as both sides have a value.
func paired(over, under []float64) []float64 {
	var ratios []float64
	for i := range min(len(over), len(under)) {
		if under[i] != 0 {
			ratios = append(ratios, over[i]/under[i])
		}
	}
	return ratios
}
