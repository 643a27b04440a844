// Package run measures: rounds in which every contender does the same piece in turn.
package run

import (
	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// Result is one case over all rounds.
type Result struct {
	Case  string `json:"case"`
	Title string `json:"title"`
	// Curve, Point and About are a growth case's.
	Curve   string  `json:"curve,omitempty"`
	Point   string  `json:"point,omitempty"`
	About   string  `json:"about,omitempty"`
	Figures []Table `json:"figures"`
	Sides   []Side  `json:"contenders"`
}

// Table is one figure of a case.
type Table struct {
	Metric stage.Metric `json:"metric"`
	Title  string       `json:"title"`
	Less   bool         `json:"less_is_better"`
	Cells  []Cell       `json:"cells"`
}

// Cell is one figure of one contender. Value is nil where there is none.
type Cell struct {
	Contender string          `json:"contender"`
	Value     *figures.Spread `json:"value,omitempty"`
	// Ratio is Cyclone's value ÷ this one, round by round.
	Ratio *figures.Spread `json:"cyclone_ratio,omitempty"`
}

// Side is one contender's part in a case.
type Side struct {
	Contender string `json:"contender"`
	// Cannot says that it has no way of doing the case.
	Cannot bool `json:"cannot,omitempty"`
	// Failed says what went wrong; the rounds before it count.
	Failed string `json:"failed,omitempty"`
	// Rounds were measured, with so many jobs each.
	Rounds int `json:"rounds"`
	Jobs   int `json:"jobs,omitempty"`
}

// turns are the samples of one contender by round, nil for a round that it sat out.
type turns []stage.Sample

func (t turns) count() int {
	n := 0
	for _, sample := range t {
		if sample != nil {
			n++
		}
	}
	return n
}

// column collects one metric of the rounds that have it.
func (t turns) column(m stage.Metric) []float64 {
	var values []float64
	for _, sample := range t {
		if value, ok := sample[m]; ok {
			values = append(values, value)
		}
	}
	return values
}

// ratios divides over's value by t's in all rounds that both have.
func (t turns) ratios(over turns, m stage.Metric) []float64 {
	var numerators, denominators []float64
	for round := range min(len(t), len(over)) {
		a, okA := over[round][m]
		b, okB := t[round][m]
		if okA && okB {
			numerators, denominators = append(numerators, a), append(denominators, b)
		}
	}
	return figures.Paired(numerators, denominators)
}

// table sums up one figure of all contenders, which are named in their order.
func table(names []string, all map[string]turns, m stage.Metric, title string, less bool) Table {
	t := Table{Metric: m, Title: title, Less: less}
	for _, name := range names {
		cell := Cell{Contender: name, Value: figures.SpreadOf(all[name].column(m))}
		if name != contender.Cyclone {
			cell.Ratio = figures.SpreadOf(all[name].ratios(all[contender.Cyclone], m))
		}
		t.Cells = append(t.Cells, cell)
	}
	return t
}
