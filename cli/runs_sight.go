package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/shape"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// foldFrom is how many steps that are alike share a line.
const foldFrom = 8

// runSight is a run as it is shown.
type runSight struct {
	run    *queue.RunInfo
	graph  *shape.Graph
	awaits map[string][]string // node → signals
	full   bool
}

func (v *runSight) fold(atLeast int) {
	kinds, deps := make([]string, len(v.run.Steps)), make([][]int, len(v.run.Steps))
	for i, s := range v.run.Steps {
		kinds[i], deps[i] = s.Kind, v.deps(i)
	}
	v.graph = shape.Fold(kinds, deps, atLeast)
}

// deps are the steps that one depends on.
func (v *runSight) deps(i int) []int {
	if v.run.Dependencies == nil {
		return nil
	}
	return v.run.Dependencies[i]
}

// count counts steps by state; nil counts all.
func (v *runSight) count(nodes []int) map[cyclone.StepState]int {
	n := make(map[cyclone.StepState]int)
	if nodes == nil {
		for i := range v.run.Steps {
			n[v.run.Steps[i].State]++
		}
	}
	for _, i := range nodes {
		n[v.run.Steps[i].State]++
	}
	return n
}

// counts shows counts by state.
func (p *program) counts(n map[cyclone.StepState]int, between string) string {
	var parts []string
	for _, s := range inTrouble {
		if n[s] > 0 {
			parts = append(parts, p.paint.Paint(stateColours[s], glyphs[s]+" "+terminal.Count(n[s])+" "+string(s)))
		}
	}
	return strings.Join(parts, between)
}

// inTrouble are the states, first those that want to be looked at.
var inTrouble = []cyclone.StepState{
	cyclone.StepExhausted, cyclone.StepRetrying, cyclone.StepRunning, cyclone.StepReady, cyclone.StepWaiting, cyclone.StepSnoozed,
	cyclone.StepScheduled, cyclone.StepBlocked, cyclone.StepCancelled, cyclone.StepCompleted,
}

// worst is the state that a vertex is shown in.
func (v *runSight) worst(nodes []int) cyclone.StepState {
	n := v.count(nodes)
	for _, s := range inTrouble {
		if n[s] > 0 {
			return s
		}
	}
	return ""
}

// glyphs stand before steps, by state. Each is one column wide.
var glyphs = map[cyclone.StepState]string{
	cyclone.StepCompleted: "✓", cyclone.StepExhausted: "✗", cyclone.StepCancelled: "–", cyclone.StepRunning: "►", cyclone.StepReady: "•",
	cyclone.StepRetrying: "↻", cyclone.StepSnoozed: "z", cyclone.StepScheduled: "◷", cyclone.StepWaiting: "◔", cyclone.StepBlocked: "○",
}

// label names the steps of a vertex.
func (v *runSight) label(nodes []int) string {
	first := v.run.Steps[nodes[0]].Node
	if len(nodes) == 1 {
		return terminal.Clean(first)
	}
	return terminal.Clean(first + " … " + v.run.Steps[nodes[len(nodes)-1]].Node)
}

// names lists steps, and cuts a long list short.
func (v *runSight) names(nodes []int) string {
	const most = 4
	var list []string
	for k, i := range nodes {
		if k == most-1 && len(nodes) > most {
			list = append(list, fmt.Sprintf("%s more", terminal.Count(len(nodes)-k)))
			break
		}
		list = append(list, v.run.Steps[i].Node)
	}
	return strings.Join(list, ", ")
}

// troubled returns the steps of a vertex that want to be looked at: what was
// discarded, and then what is retrying.
func (v *runSight) troubled(nodes []int) []int {
	var found []int
	for _, i := range nodes {
		if s := v.run.Steps[i].State; s == cyclone.StepExhausted || s == cyclone.StepRetrying {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(v.run.Steps[a].State, v.run.Steps[b].State) })
	return found
}
