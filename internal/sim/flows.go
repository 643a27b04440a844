package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// stirs are the scripts after which runs of many steps are looked at: those that
// change a run, a node's body or the sweep.
var stirs = map[string]bool{
	"build": true, "advance": true, "sweep": true, "signal": true, "suspend": true, "take": true, "forget": true,
	"delete": true, "purge": true,
}

// flows checks all runs of many steps of a partition.
func (s *shard) flows(steps map[string]*step, now int64) (wrong []string) {
	for id := range s.runs {
		if s.graphs[id] == nil || s.held(id) || s.leaving(id) {
			continue // read has complained, or it has not begun, or is going
		}
		if text := s.flow(id, steps, now); text != "" {
			wrong = append(wrong, fmt.Sprintf("run %s (%v): %s", id, s.runs[id], text))
		}
	}
	for id, fields := range s.runs {
		wrong = append(wrong, s.signals(id, fields)...)
	}
	for id, fields := range s.journals {
		wrong = append(wrong, s.signals(id, fields)...)
	}
	return wrong
}

// swept tells whether somebody will look at a run: its item is due, or held by a
// sweep that may have died. A deadline that is to come is not enough.
func (s *shard) swept(id string, now int64) bool {
	at, ok := s.sets["sweep"][""][id]
	return ok && (int64(at) <= now || strconv.FormatInt(int64(at), 10) != s.runs[id]["dl"])
}

// flow checks what a run counts, and that it cannot stand still: what is due for it
// by the rules is left to the sweep.
func (s *shard) flow(id string, steps map[string]*step, now int64) string {
	g, fields := s.graphs[id], s.runs[id]
	left, ok := 0, 0
	for i := range g.Nodes {
		switch st := orAbsent(steps[memberOf(id, i)]); {
		case st.State == Completed:
			ok++
		case !st.Ended():
			left++
		}
	}
	_, kept := s.sets["runs"][""][id]
	ended := runStates[fields["st"]].Ended()
	switch {
	case fields["left"] != strconv.Itoa(left):
		return fmt.Sprintf("%d nodes have not ended", left)
	case ok+left < len(g.Nodes) && fields["bad"] == "":
		return fmt.Sprintf("only %d nodes have completed, and nothing says so", ok)
	case ended && left > 0:
		return fmt.Sprintf("it has ended, and %d nodes have not", left)
	case ended != kept:
		return fmt.Sprintf("it is kept for a time: %t", kept)
	case ended || s.swept(id, now):
		return ""
	}
	if due := s.due(id, steps, now); due != "" {
		return due + ", and nobody will see to it"
	}
	return ""
}

// due says what has to be done for a run that goes on, "" for nothing: by the rules
// of package dag, and by a look at the counts of what is blocked.
func (s *shard) due(id string, steps map[string]*step, now int64) string {
	g, state := s.graphs[id], s.state(id, steps, now)
	if ops := dag.Plan(g, state); len(ops) > 0 {
		return fmt.Sprintf("%d operations are due: %+v", len(ops), ops)
	}
	for i, n := range state.Nodes {
		unmet := 0
		for _, d := range g.Nodes[i].Deps {
			if state.Nodes[d].Ended == dag.MarkNone {
				unmet++
			}
		}
		switch {
		case n.Blocked && unmet == 0:
			return fmt.Sprintf("node %d is blocked by nothing", i)
		case n.Blocked && n.Left != unmet:
			return fmt.Sprintf("node %d is blocked by %d, and not by %d", i, unmet, n.Left)
		}
	}
	return ""
}

// state is a run as package dag has it.
func (s *shard) state(id string, steps map[string]*step, now int64) *dag.State {
	fields := s.runs[id]
	out := &dag.State{Run: dag.RunMark(fields["st"][0]), Nodes: make([]dag.NodeState, len(s.graphs[id].Nodes))}
	if at, err := strconv.ParseInt(fields["dl"], 10, 64); err == nil {
		out.Overdue = at <= now
	}
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.Ended, n.Attempt, _ = dag.ParseMark(fields["s"+strconv.Itoa(i)])
		if text := fields["d"+strconv.Itoa(i)]; text != "" {
			n.Blocked = true
			n.Left, _ = strconv.Atoi(text)
		}
		_, stored := s.hashes["steps"][memberOf(id, i)]
		n.NoBody = !stored && (n.Ended == dag.MarkNone || n.Ended.Dropped())
	}
	return out
}

// signals checks what was sent to a run: the counts agree, and nobody stands in line
// for a signal that is there, unless the sweep will rouse them.
func (s *shard) signals(id string, fields map[string]string) (wrong []string) {
	queued := map[string]int{}
	total := 0
	for field := range fields {
		if rest, ok := strings.CutPrefix(field, "g:"); ok {
			queued[rest[:strings.LastIndexByte(rest, ':')]]++
			total++
		}
	}
	if n, _ := strconv.Atoi(fields["gn"]); n != total {
		wrong = append(wrong, fmt.Sprintf("run %s has %d signals queued and counts %d", id, total, n))
	}
	for field := range fields {
		name, ok := strings.CutPrefix(field, "gt:")
		if !ok {
			continue
		}
		tail, _ := strconv.Atoi(fields[field])
		head, _ := strconv.Atoi(fields["gh:"+name])
		if tail-head != queued[name] {
			wrong = append(wrong, fmt.Sprintf("run %s has %d signals %s queued, sent %d, taken %d", id, queued[name], name, tail, head))
		}
		_, swept := s.sets["sweep"][""]["s "+id+" "+name]
		if line := fields["gw:"+name]; line != "" && queued[name] > 0 && !swept {
			wrong = append(wrong, fmt.Sprintf("run %s has a signal %s that nobody rouses %s for", id, name, line))
		}
	}
	return wrong
}

// inLine tells whether a step stands in line for a signal of its run.
func (s *shard) inLine(id string) bool {
	fields := s.journals[id]
	if run, _, ok := nodeOf(id); ok {
		fields = s.runs[run]
	}
	for field, line := range fields {
		if strings.HasPrefix(field, "gw:") && strings.Contains(";"+line, ";"+id+" ") {
			return true
		}
	}
	return false
}

// unmet names a dependency of a node that has not ended as the node's policy asks
// for, "" when there is none. The run is as it is after the script.
func (s *shard) unmet(id string) string {
	run, index, ok := nodeOf(id)
	if !ok || s.graphs[run] == nil {
		return ""
	}
	node := &s.graphs[run].Nodes[index]
	for _, d := range node.Deps {
		mark, _, _ := dag.ParseMark(s.runs[run]["s"+strconv.Itoa(d)])
		if mark == dag.MarkNone || mark != dag.MarkCompleted && node.OnDepFailure != wire.DepRun {
			return fmt.Sprintf("node %d has not ended as it should: %q", d, s.runs[run]["s"+strconv.Itoa(d)])
		}
	}
	return ""
}

// verdict is how a run ends whose nodes have all ended, said as simply as can be:
// cancelled when that was asked for, failed by a failure that is not contained or
// by its deadline, else completed.
func (s *shard) verdict(id, before string, now int64) (marks []string) {
	g, fields := s.graphs[id], s.runs[id]
	if before == "X" {
		return []string{"x"}
	}
	for i := range g.Nodes {
		mark, _, _ := dag.ParseMark(fields["s"+strconv.Itoa(i)])
		if mark.Failed() && !contained(g, i) {
			return []string{"f"}
		}
	}
	if at, err := strconv.ParseInt(fields["dl"], 10, 64); err == nil && at <= now+maxJump {
		return []string{"c", "f"} // the deadline may have come first, or not yet
	}
	return []string{"c"}
}

// contained tells whether the failure of a node stays in its branch: something
// depends on it, and everything that does, however far, says what to do then.
func contained(g *dag.Graph, node int) bool {
	reached := []int{node}
	for i := range g.Nodes {
		depends := slices.ContainsFunc(g.Nodes[i].Deps, func(d int) bool { return slices.Contains(reached, d) })
		if depends && g.Nodes[i].OnDepFailure == wire.DepFail {
			return false
		}
		if depends {
			reached = append(reached, i)
		}
	}
	return len(reached) > 1
}
