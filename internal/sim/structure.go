package sim

import (
	"fmt"
	"math"
	"strings"
)

// places is where the entries of one id are.
type places struct {
	step    *step
	ready   int // entries in ready lists
	leased  int
	indexes int
	states  []string
}

// read works out where every step is, and returns what does not fit together.
func (s *shard) read() (steps map[string]*step, wrong []string) {
	found := map[string]*places{}
	at := func(id, queueName, where string) *places {
		p := found[id]
		if p == nil {
			p = &places{step: &step{}}
			found[id] = p
		}
		p.step.queue = queueName
		p.states = append(p.states, where)
		return p
	}
	for id := range s.hashes["steps"] {
		if !s.held(id) {
			found[id] = &places{step: &step{}}
		}
	}
	for queueName, lanes := range s.lists {
		for letter, ids := range lanes {
			for _, id := range ids {
				p := at(id, queueName, "ready")
				p.ready++
				p.step.lane = strings.Index(laneLetters, letter)
			}
		}
	}
	for name, state := range waitingSets {
		for queueName, set := range s.sets[name] {
			for id, score := range set {
				p := at(id, queueName, name)
				p.indexes++
				p.step.State, p.step.due, p.step.lane = state, int64(score)/16, int(int64(score)%16)
			}
		}
	}
	for name, state := range endedSets {
		for queueName, set := range s.sets[name] {
			for id := range set {
				p := at(id, queueName, name)
				p.indexes++
				p.step.State = state
			}
		}
	}
	for queueName, set := range s.sets["leased"] {
		for member, score := range set {
			id, _, ok := strings.Cut(member, ":")
			if !ok || math.IsInf(score, 1) {
				continue
			}
			p := at(id, queueName, "leased")
			p.leased++
			p.step.member, p.step.until, p.step.began = member, int64(score)/16, int64(score)%2 == 1
			p.step.lane = int(int64(score)%16) / 2
		}
	}
	s.nodes(found)
	steps = make(map[string]*step, len(found))
	for id, p := range found {
		text := ""
		switch {
		case s.runs[id] != nil:
			text = s.judgeRun(id, p)
		case strings.Contains(id, "."):
			text = s.judgeNode(id, p)
		default:
			text = s.judge(id, p)
		}
		if text != "" {
			wrong = append(wrong, fmt.Sprintf("step %s: %s; it is in %q", id, text, p.states))
		}
		p.step.env = s.env[id]
		steps[id] = p.step
	}
	return steps, append(wrong, s.sides(steps)...)
}

// judge says what is wrong with one step, and completes its state by its ghost.
func (s *shard) judge(id string, p *places) string {
	_, stored := s.hashes["steps"][id]
	ghost := s.hashes["ghosts"][id]
	st, entries := p.step, p.ready+p.leased
	if ghost != "" {
		st.Left = InReady
		if p.leased > 0 {
			st.Left = InLease
		}
		switch {
		case entries != 1:
			return fmt.Sprintf("a ghost of %d entries", entries)
		case ghost[0] == 'r' && (!stored || p.indexes > 0):
			return "opened again, but not only that"
		case ghost[0] == 'x' && stored && st.State != Cancelled:
			return "dropped, but it has not ended"
		case ghost[0] == 'x' && !stored && p.indexes > 0:
			return "an index names a step without a body"
		case ghost[0] == 'r':
			st.State = Ready
		case ghost[0] != 'x':
			return "an unknown ghost " + ghost
		}
		return ""
	}
	switch {
	case !stored:
		return "an entry without a body or a ghost"
	case entries+p.indexes != 1:
		return fmt.Sprintf("in %d indexes", entries+p.indexes)
	case p.ready == 1:
		st.State = Ready
	case p.leased == 1:
		st.State = Running
	}
	return ""
}

// sides checks what is kept beside the bodies.
func (s *shard) sides(steps map[string]*step) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for id := range s.hashes["ghosts"] {
		if steps[id] == nil {
			complain("a ghost of nothing: %s", id)
		}
	}
	for _, name := range []string{"tries", "history", "results"} {
		for id := range s.hashes[name] {
			run, _, node := nodeOf(id)
			switch st := steps[id]; {
			case node && s.leaving(run): // it goes with the next call
			case st == nil || st.State == Absent, st.State == Completed && strings.Contains(id, "."):
				complain("%s of a step that is not stored: %s", name, id)
			case name == "results" && st.State != Completed:
				complain("a result of a step that is %v: %s", st.State, id)
			}
		}
	}
	timed := s.sets["uniqx"][""]
	for digest, id := range s.hashes["uniq"] {
		held := s.hashes["uniqof"][id]
		if len(held) < 2 || held[1:] != digest {
			complain("the key %s is held by %s, which holds %q", digest, id, held)
			continue
		}
		_, byTime := timed[digest]
		lasts := held[0] == 'd' || held[0] == 'r'
		st := steps[id]
		switch {
		case lasts && !byTime:
			complain("the key %s is held for a time that is not noted, by %s", digest, id)
		case !lasts && byTime:
			complain("the key %s is held by %s for a time and while it is unfinished", digest, id)
		case !lasts && (st == nil || st.State == Absent || st.Ended()):
			complain("the key %s is held by %s, which has ended", digest, id)
		}
	}
	for id, held := range s.hashes["uniqof"] {
		if s.hashes["uniq"][held[1:]] != id {
			complain("%s believes to hold the key %s", id, held[1:])
		}
	}
	return wrong
}
