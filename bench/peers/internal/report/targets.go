package report

import (
	"fmt"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/run"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// target is a bound for Cyclone's median, or for the median of its ratios to
// another contender.
type target struct {
	name    string // of the case
	metric  stage.Metric
	against string // empty: the value itself
	atMost  bool
	bound   float64
	// over compares with another case of that contender: median ÷ median.
	over string
}

var targets = []target{
	{name: "bulk", metric: stage.JobsPerSecond, against: contender.Asynq, bound: 8, over: "singles-50"},
	{name: "bulk", metric: stage.JobsPerSecond, against: contender.Floor, bound: 0.7},
	{name: "singles-50", metric: stage.JobsPerSecond, against: contender.Asynq, bound: 2.5},
	{name: "singles-1", metric: stage.JobsPerSecond, against: contender.Asynq, bound: 1},
	{name: "singles-50", metric: stage.Allocations, atMost: true, bound: 12},
	{name: "drain", metric: stage.JobsPerSecond, against: contender.Asynq, bound: 25},
	{name: "drain", metric: stage.JobsPerSecond, against: contender.AsynqFour, bound: 10},
	{name: "drain", metric: stage.JobsPerSecond, against: "nats", bound: 1.5},
	{name: "drain", metric: stage.JobsPerSecond, against: contender.Floor, bound: 0.6},
	{name: "drain", metric: stage.ServerMicros, against: contender.Floor, atMost: true, bound: 1.6},
	{name: "drain", metric: stage.ServerMicros, against: contender.Asynq, atMost: true, bound: 1.0 / 12},
	{name: "drain", metric: stage.Allocations, atMost: true, bound: 12},
	{name: "both-single", metric: stage.JobsPerSecond, against: contender.Asynq, bound: 12},
	{name: "both-bulk", metric: stage.JobsPerSecond, against: contender.Asynq, bound: 20, over: "both-single"},
	{name: "pickup", metric: stage.P50Millis, atMost: true, bound: 0.8},
	{name: "pickup", metric: stage.P99Millis, atMost: true, bound: 2},
	{name: "idle", metric: stage.ClientPercent, atMost: true, bound: 0.2},
	{name: "instant", metric: stage.LastMillis, atMost: true, bound: 800},
	{name: "memory-queued", metric: stage.BytesPerJob, atMost: true, bound: 250},
	{name: "sleep", metric: stage.Share, bound: 0.85},
	{name: "bulk", metric: stage.JobsPerSecond, against: contender.CycloneAOF, atMost: true, bound: 1.25},
	{name: "drain", metric: stage.JobsPerSecond, against: contender.CycloneAOF, atMost: true, bound: 1.25},
	{name: "singles-50", metric: stage.JobsPerSecond, against: contender.CycloneAOF, atMost: true, bound: 1.25},
	{name: "both-single", metric: stage.JobsPerSecond, against: contender.CycloneAOF, atMost: true, bound: 1.25},
}

// Verdict is what became of a target.
type Verdict struct {
	Target string  `json:"target"`
	Value  float64 `json:"value"`
	Met    bool    `json:"met"`
}

// Judge holds the results against all targets that they have values for.
func Judge(results []run.Result) []Verdict {
	var verdicts []Verdict
	for _, t := range targets {
		value, ok := t.value(results)
		if !ok {
			continue
		}
		verdicts = append(verdicts, Verdict{Target: t.String(), Value: value, Met: value >= t.bound != t.atMost || value == t.bound})
	}
	return verdicts
}

func (t target) value(results []run.Result) (float64, bool) {
	own, ok := cell(results, t.name, t.metric, contender.Cyclone)
	if !ok || own.Value == nil {
		return 0, false
	}
	if t.against == "" {
		return own.Value.Median, true
	}
	if t.over != "" {
		other, ok := cell(results, t.over, t.metric, t.against)
		if !ok || other.Value == nil {
			return 0, false
		}
		return own.Value.Median / other.Value.Median, true
	}
	other, ok := cell(results, t.name, t.metric, t.against)
	if !ok || other.Ratio == nil {
		return 0, false
	}
	return other.Ratio.Median, true
}

func cell(results []run.Result, name string, m stage.Metric, side string) (run.Cell, bool) {
	for _, result := range results {
		if result.Case != name {
			continue
		}
		for _, figure := range result.Figures {
			for _, c := range figure.Cells {
				if figure.Metric == m && c.Contender == side {
					return c, true
				}
			}
		}
	}
	return run.Cell{}, false
}

func (t target) String() string {
	sign, unit := "≥", ""
	if t.atMost {
		sign = "≤"
	}
	if t.against != "" {
		unit = " × " + t.against
	}
	if t.over != "" {
		unit += "'s " + t.over
	}
	return fmt.Sprintf("%s %s %s %.3g%s", t.name, strings.ReplaceAll(string(t.metric), "_", " "), sign, t.bound, unit)
}

func (r Report) writeTargets(text *strings.Builder) {
	if len(r.Targets) == 0 {
		return
	}
	text.WriteString("\ntargets\n")
	rows := [][]string{{"", "reached", "met"}}
	for _, v := range r.Targets {
		met := "yes"
		if !v.Met {
			met = "NO"
		}
		rows = append(rows, []string{v.Target, figures.Number(v.Value), met})
	}
	figures.WriteAligned(text, rows, func(column int) bool { return column == 1 })
}
