package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/dag"
)

// nodeOf splits the id of a node, `run.index`; ok is false for any other.
func nodeOf(id string) (run string, index int, ok bool) {
	run, rest, ok := strings.Cut(id, ".")
	index, err := strconv.Atoi(rest)
	return run, index, ok && err == nil
}

func memberOf(run string, index int) string { return run + "." + strconv.Itoa(index) }

// held tells that a run, or the run of a node, is stored and has not begun: nothing of
// it is to be seen.
func (s *shard) held(id string) bool {
	if run, _, ok := nodeOf(id); ok {
		id = run
	}
	_, building := s.sets["building"][""][id]
	return building && s.runs[id]["st"] == ""
}

// leaving tells that a run is being forgotten, which takes several calls for one of many
// nodes: it has no state any more.
func (s *shard) leaving(run string) bool {
	_, kept := s.sets["runs"][""][run]
	return kept && len(s.runs[run]) > 0 && s.runs[run]["st"] == ""
}

// nodes adds the nodes of which nothing is stored but what their run says, and the
// runs of which nothing but that is stored.
func (s *shard) nodes(found map[string]*places) {
	for id := range s.runs {
		if s.held(id) {
			continue
		}
		if found[id] == nil {
			found[id] = &places{step: &step{}}
		}
		if s.graphs[id] == nil || s.runs[id]["st"] == "" {
			continue
		}
		for i := range s.graphs[id].Nodes {
			if member := memberOf(id, i); found[member] == nil {
				found[member] = &places{step: &step{}}
			}
		}
	}
}

// runStates are the states of runs of many steps by their marks.
var runStates = map[string]State{"r": Going, "F": Going, "X": Going, "c": Completed, "f": Discarded, "x": Cancelled}

// judgeRun says what is wrong with the entries of a run of many steps.
func (s *shard) judgeRun(id string, p *places) string {
	p.step.mark = s.runs[id]["st"]
	p.step.State = runStates[p.step.mark]
	switch {
	case p.ready+p.leased+p.indexes > 0 || s.hashes["ghosts"][id] != "":
		return "a run of many steps in an index"
	case s.graphs[id] == nil:
		return "a run of many steps without a graph"
	case p.step.State == Absent && !s.leaving(id):
		return "a run in the state " + p.step.mark
	}
	return ""
}

// judgeNode says what is wrong with one node, and completes its state by what its
// run says and by its ghost. Each is in exactly one place.
func (s *shard) judgeNode(id string, p *places) string {
	run, index, _ := nodeOf(id)
	fields, st := s.runs[run], p.step
	_, stored := s.hashes["steps"][id]
	ghost, entries := s.hashes["ghosts"][id], p.ready+p.leased
	ended, blocked := fields["s"+strconv.Itoa(index)], fields["d"+strconv.Itoa(index)] != ""
	if ghost != "" && entries == 1 {
		st.Left = InReady
		if p.leased > 0 {
			st.Left = InLease
		}
	}
	haunts := ghost == "" && entries == 0 || ghost != "" && ghost[0] == 'x' && entries == 1
	st.mark = ended
	switch {
	case fields["st"] == "":
		if (stored || p.indexes > 0) && !s.leaving(run) || !haunts {
			return "its run does not know it"
		}
		st.State = Absent
		return ""
	case ended != "" && blocked:
		return "it has ended and is blocked"
	case ended != "":
		return s.judgeEnded(p, ended, stored, haunts, ghost)
	case blocked && !stored: // deleted; the ghost is of nothing until the sweep comes
		st.State, st.bare = Absent, true
	case blocked:
		st.State = Blocked
	default:
		return s.judgeLive(p, stored, haunts, ghost)
	}
	if p.indexes > 0 || !haunts && (stored || entries > 0) {
		return fmt.Sprintf("it is blocked; stored: %t, ghost %q", stored, ghost)
	}
	return ""
}

// judgeEnded is for a node that has ended.
func (s *shard) judgeEnded(p *places, mark string, stored, haunts bool, ghost string) string {
	kind, _, ok := dag.ParseMark(mark)
	st := p.step
	switch {
	case !ok:
		return "it has ended as " + mark
	case kind == dag.MarkCompleted:
		st.State = Completed
		if stored || ghost != "" || len(p.states) > 0 {
			return "it is completed, and there is more of it"
		}
	case kind == dag.MarkDiscarded:
		st.State = Discarded
		if ghost != "" || p.ready+p.leased > 0 || stored != (p.indexes == 1) {
			return fmt.Sprintf("it is discarded; stored: %t", stored)
		}
	default:
		st.State = Cancelled
		if p.indexes > 0 || !haunts {
			return "it is cancelled, and not only that"
		}
	}
	return ""
}

// judgeLive is for a node that has been released and has not ended.
func (s *shard) judgeLive(p *places, stored, haunts bool, ghost string) string {
	st := p.step
	switch {
	case !stored:
		st.State, st.bare = Absent, true
		if p.indexes > 0 || !haunts {
			return "it has no body, and is in an index"
		}
	case ghost != "":
		st.State = Ready
		if ghost[0] != 'r' || p.ready+p.leased != 1 || p.indexes > 0 {
			return "it is live under a ghost " + ghost
		}
	case p.ready+p.leased+p.indexes != 1:
		return fmt.Sprintf("it is live, in %d indexes", p.ready+p.leased+p.indexes)
	case p.ready == 1:
		st.State = Ready
	case p.leased == 1:
		st.State = Running
	}
	return ""
}
