package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	outcome "github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// promises is what must never be undone: what tasks have recorded, and what became
// of signals.
type promises struct {
	records map[string]map[string]string // by step and field
	results map[string]string            // what handlers saw, by step and recorded step
	sent    map[string]string            // where a signal is kept that was stored, by its payload
	taken   map[string]string            // which record took it, by its payload
	timed   map[string]time.Time         // when a wait had timed out, by run and signal
}

func newPromises() promises {
	return promises{
		records: map[string]map[string]string{}, results: map[string]string{}, sent: map[string]string{}, taken: map[string]string{},
		timed: map[string]time.Time{},
	}
}

// keepOld remembers the hash behind a key before it is read again.
func (s *shard) keepOld(key string, was map[string]map[string]string) {
	_, rest, _ := strings.Cut(key, "}:")
	if id, ok := strings.CutPrefix(rest, "run:"); ok {
		was[rest] = s.runs[id]
	}
	if id, ok := strings.CutPrefix(rest, "journal:"); ok {
		was[rest] = s.journals[id]
	}
}

// plain follows a command that is no script.
func (a *auditor) plain(args []string) {
	switch strings.ToLower(args[0]) {
	case "zadd", "zrem", "unlink", "del", "hdel", "hset":
	default:
		return
	}
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	for _, key := range args[1:] {
		a.keys.reload(key)
	}
}

// promised compares journals and signals with what they were.
func (a *auditor) promised(script string, argv []string, s *shard, was map[string]map[string]string) (wrong []string) {
	for key, before := range was {
		kind, id, _ := strings.Cut(key, ":")
		after := s.runs[id]
		if kind == "journal" {
			after = s.journals[id]
			wrong = append(wrong, a.recorded(script, id, before, after)...)
		}
		wrong = append(wrong, a.signalled(script, argv, id, before, after, s)...)
	}
	return wrong
}

// recorded: what a task has recorded stays as it is while there is a journal.
func (a *auditor) recorded(script, id string, before, after map[string]string) (wrong []string) {
	if len(after) == 0 {
		delete(a.ledger.promises.records, id)
		if len(before) > 0 && script != "advance" && script != "forget" {
			wrong = append(wrong, fmt.Sprintf("the journal of step %s is gone", id))
		}
		return wrong
	}
	known := a.ledger.promises.records[id]
	if known == nil {
		known = map[string]string{}
		a.ledger.promises.records[id] = known
	}
	for field, value := range known {
		if after[field] != value {
			wrong = append(wrong, fmt.Sprintf("step %s had recorded %s as %q, and now as %q", id, field, value, after[field]))
		}
	}
	for field, value := range after {
		if !strings.HasPrefix(field, "r:") || known[field] == value {
			continue
		}
		known[field] = value
		a.cover.Recorded++
		if script != "record" && script != "take" && script != "suspend" {
			wrong = append(wrong, fmt.Sprintf("%s has recorded %s of step %s", script, field, id))
		}
	}
	return wrong
}

// signalled: a signal is stored once, and taken by the record of one step.
func (a *auditor) signalled(script string, argv []string, id string, before, after map[string]string, s *shard) (wrong []string) {
	p := &a.ledger.promises
	for field, value := range after {
		if !strings.HasPrefix(field, "g:") || before[field] == value {
			continue
		}
		at := id + " " + field
		if other, twice := p.sent[value]; twice {
			wrong = append(wrong, fmt.Sprintf("a signal is stored at %s that was stored at %s", at, other))
		}
		p.sent[value] = at
		a.cover.Signalled++
		name := field[2:strings.LastIndexByte(field, ':')]
		if since, late := p.timed[id+" "+name]; late && time.Since(since) < time.Second {
			a.cover.TimeoutWon++
		}
	}
	if len(after) == 0 {
		return wrong // the run is gone, and its signals with it
	}
	for field, value := range before {
		if !strings.HasPrefix(field, "g:") || after[field] == value {
			continue
		}
		if script != "take" {
			wrong = append(wrong, fmt.Sprintf("%s has removed the signal %s of %s", script, field, id))
			continue
		}
		member, into := argv[1], argv[3]
		if got := s.journals[member][into]; got != argv[4]+value {
			wrong = append(wrong, fmt.Sprintf("the signal %s of %s was taken and recorded as %q", field, id, got))
		}
		if other, twice := p.taken[value]; twice {
			wrong = append(wrong, fmt.Sprintf("the signal %s of %s was taken twice: by %s and by %s %s", field, id, other, member, into))
		}
		p.taken[value] = member + " " + into
		a.cover.SignalsTaken++
		if deadline, _ := strconv.ParseInt(argv[5], 10, 64); deadline > 0 && deadline <= a.clock.ms()+1000 {
			a.cover.SignalWon++
		}
	}
	return wrong
}

// failureTold tells whether a task has recorded that its child failed, or was cancelled:
// the run of this step.
func (s *shard) failureTold(id string) bool {
	run, _, _ := strings.Cut(id, ".")
	for _, journal := range s.journals {
		for field, value := range journal {
			if !strings.HasPrefix(field, "r:") {
				continue
			}
			if o, err := outcome.Decode([]byte(value)); err == nil && o.Kind == outcome.Failure && strconv.FormatInt(o.Run, 10) == run {
				return true
			}
		}
	}
	return false
}

// timedOut notes that a wait has timed out.
func (a *auditor) timedOut(argv []string, record string) {
	if record == argv[6] {
		run, _, _ := strings.Cut(argv[1], ".")
		a.ledger.promises.timed[run+" "+argv[2]] = time.Now()
		a.cover.TimedOut++
	}
}

// execute is called by the function of a recorded step before it does anything: its
// result has not been recorded before.
func (a *auditor) execute(worker, id, name string) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.cover.Executed++
	st, r := a.find(id), a.ledger.runs[id]
	if r == nil || st.State != Running || holder(st.member) != worker || a.clock.lastJump().After(r.claimed) {
		return // it does not know yet that its lease is gone
	}
	for field, value := range a.ledger.promises.records[id] {
		if field != "r:"+name+"#1" && !strings.HasPrefix(field, "r:"+name+"#1!") {
			continue
		}
		if o, err := outcome.Decode([]byte(value)); err != nil || o.Kind == outcome.Value {
			a.fail("step %s executes %s again on %s, which it has recorded: %q, %v", id, name, worker, value, err)
		}
	}
}

// saw is called by a handler with the result of a recorded step: it is the same
// every time.
func (a *auditor) saw(id, name, result string) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	key := id + " " + name
	if before, ok := a.ledger.promises.results[key]; ok {
		a.cover.Replayed++
		if before != result {
			a.fail("step %s sees %q as the result of %s, and has seen %q before", id, result, name, before)
		}
	}
	a.ledger.promises.results[key] = result
}

// fannedIn counts nodes whose last dependencies ended at about the same time.
func (a *auditor) fannedIn(c *change) {
	run, index, _ := nodeOf(c.id)
	near := 0
	for _, d := range c.shard.graphs[run].Nodes[index].Deps {
		if r := a.ledger.runs[memberOf(run, d)]; r != nil && !r.over.IsZero() && time.Since(r.over) < 20*time.Millisecond {
			near++
		} else if st := c.steps[memberOf(run, d)]; st != nil && st.State.Ended() && !c.shard.was(memberOf(run, d)).Ended() {
			near++ // by this call
		}
	}
	if near > 1 {
		a.cover.FanInRaced++
	}
}

// was is the state of a step before the script.
func (s *shard) was(id string) State { return orAbsent(s.steps[id]).State }

// reached counts what became of nodes and runs.
func (a *auditor) reached(c *change, r *record) {
	if c.after.State.Ended() && !c.before.State.Ended() {
		r.over = time.Now()
	}
	if _, _, node := nodeOf(c.id); node && c.after.State == Completed {
		a.cover.NodesCompleted++
	}
}

// refusedNode counts completions that came after somebody had ended their node.
func (a *auditor) refusedNode(s *shard, id string) {
	run, _, node := nodeOf(id)
	if !node {
		return
	}
	switch mark := s.runs[run]["st"]; {
	case mark == "F" || strings.HasPrefix(orAbsent(s.steps[id]).mark, "X"):
		a.cover.DiscardRaced++ // against a completion
	default:
		a.cover.CancelRaced++
	}
}

// repeated counts calls of scripts without a session that found their work done.
func (a *auditor) repeated(script string, argv []string, reply []any, changed bool) {
	key := script + "\x00" + strings.Join(argv, "\x00")
	if !a.calls[key] {
		a.calls[key] = true
		return
	}
	switch script {
	case "record":
		a.cover.ReplaysOfRecord++
	case "take":
		if outcome, _ := luascripts.ParseTake(reply); outcome == luascripts.Recorded {
			a.cover.ReplaysOfTake++
		}
	case "forget":
		a.cover.ReplaysOfForget++
		if changed {
			a.cover.ReplaysOfForget-- // the first one had not arrived in time
		}
	}
}
