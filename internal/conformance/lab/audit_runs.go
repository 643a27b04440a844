package lab

import (
	"strconv"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/dag"
)

// readRuns finds the runs of many steps among the bodies.
func (a *audit) readRuns() {
	a.runs = make(map[string]*ManySteps)
	for id, body := range a.bodies {
		if r := a.lab.manySteps(a.base, id, body); r != nil {
			a.runs[id] = r
		}
	}
}

// completedNode tells whether the id is that of a node that has ended, so that
// nothing but its place in the run is left.
func (a *audit) completedNode(member string) bool {
	run, node, many := strings.Cut(member, ".")
	i, err := strconv.Atoi(node)
	return many && err == nil && a.runs[run] != nil && a.runs[run].ended(i) != dag.MarkNone
}

func (a *audit) zset(name string) map[string]float64 {
	scores := make(map[string]float64)
	for _, z := range a.lab.zset(a.base + name) {
		scores[z.Member.(string)] = z.Score
	}
	return scores
}

// auditRuns checks the runs of many steps: each node stands in one way, the run
// counts them right, and none waits for nothing.
func (a *audit) auditRuns() {
	kept, building, sweep := a.zset("runs"), a.zset("building"), a.zset("sweep")
	for id := range kept {
		if a.runs[id] == nil {
			a.find("run %s is kept, and is not there", id)
		}
	}
	for id, r := range a.runs {
		_, isKept := kept[id]
		_, isBuilt := building[id]
		_, isSwept := sweep[id]
		if len(a.places[id]) > 0 {
			a.find("run %s of many steps is in an index: %v", id, a.places[id])
		}
		if isBuilt || r.Mark == 0 {
			if isBuilt != (r.Mark == 0) {
				a.find("run %s is being built: %v, and its state is %q", id, isBuilt, r.Mark)
			}
			continue
		}
		left, live := 0, 0
		for i := range r.Graph.Nodes {
			if r.ended(i) == dag.MarkNone {
				left++
				if !r.blocked(i) {
					live++
				}
			}
			a.auditNode(id, r, i, isSwept)
		}
		if r.Fields["left"] != strconv.Itoa(left) {
			a.find("run %s counts %s nodes that have not ended, there are %d", id, r.Fields["left"], left)
		}
		finished := r.State.Finished()
		if finished && left > 0 || finished != isKept {
			a.find("run %s is %s with %d nodes that have not ended, and is kept: %v", id, r.State, left, isKept)
		}
		if !finished && live == 0 && !isSwept {
			a.find("run %s waits for nothing: %d nodes, none of them live (%v)", id, left, r.Fields)
		}
	}
	for member := range a.bodies {
		if run, _, many := strings.Cut(member, "."); many && a.runs[run] == nil {
			a.find("node %s, whose run is gone", member)
		}
	}
	a.auditKeys()
}

// auditNode checks one node. A run that is on the sweep is about to be put right.
func (a *audit) auditNode(id string, r *ManySteps, i int, swept bool) {
	member := id + "." + strconv.Itoa(i)
	_, body := a.bodies[member]
	places := a.places[member]
	mark, blocked := r.ended(i), r.blocked(i)
	right := true
	switch {
	case mark != dag.MarkNone && blocked:
		right = false
	case mark == dag.MarkCompleted:
		right = !body && len(places) == 0
	case mark == dag.MarkDiscarded:
		right = body && len(places) == 1 && places[0].state == "discarded"
	case mark != dag.MarkNone:
		right = len(places) == 0
	case blocked:
		right = (body || swept) && len(places) == 0
	default:
		right = body && len(places) == 1 && !places[0].state.Finished() || swept && !body
	}
	if !right {
		a.find("node %s (%s): mark %q, blocked %v, body %v, places %v", member, r.Graph.Nodes[i].Name, r.Fields["s"+strconv.Itoa(i)], blocked, body, places)
	}
}

// auditKeys finds keys of runs and journals that belong to nobody.
func (a *audit) auditKeys() {
	journals := a.zset("journals")
	for _, key := range a.lab.Keys() {
		rest, ours := strings.CutPrefix(key, a.base)
		name, id, _ := strings.Cut(rest, ":")
		switch {
		case !ours:
		case name == "run" && a.runs[id] == nil:
			a.find("%s, whose run is gone", key)
		case name == "journal" && a.bodies[id] == "":
			if _, known := journals[id]; !known {
				a.find("%s, whose step is gone", key)
			}
		}
	}
}
