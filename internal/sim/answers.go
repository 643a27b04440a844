package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// sessioned are the scripts whose calls are numbered.
var sessioned = map[string]bool{
	"enqueue": true, "turn": true, "cancel": true, "delete": true, "revive": true, "reschedule": true, "purge": true, "pause": true,
	"build": true, "advance": true, "suspend": true, "signal": true, "sweep": true,
}

// answered checks what a script says, and counts which way it went. The ledger is
// locked.
func (a *auditor) answered(script string, d *delivery, argv []string, reply []any, changed bool, s *shard) {
	if !sessioned[script] {
		a.repeated(script, argv, reply, changed)
		if script == "take" {
			if outcome, record := luascripts.ParseTake(reply); outcome == luascripts.Recorded {
				a.timedOut(argv, record)
			}
		}
		return
	}
	call := argv[0] + " " + argv[1]
	switch luascripts.StatusOf(reply) {
	case luascripts.Stale:
		a.cover.Stale++
	case luascripts.NoSession:
		a.cover.NoSession++
	case luascripts.Gap:
		a.cover.Gaps++
	case luascripts.OK:
		if a.calls[call] {
			a.cover.Replays++
			a.cover.replayed(script)
			if script == "enqueue" && a.full() {
				a.cover.FullReplays++
			}
			if changed {
				a.fail("%s by %s was applied twice", script, d.host)
			}
		}
		a.calls[call] = true
	}
	switch {
	case luascripts.StatusOf(reply) != luascripts.OK:
	case script == "turn":
		a.turnAnswered(d, argv, luascripts.ParseTurn(reply), s)
	case script == "advance":
		for member, reason := range luascripts.ParseAdvance(reply).Lost {
			if id, _, _ := strings.Cut(member, ":"); reason == luascripts.ReasonCancelled {
				a.refusedNode(s, id)
			}
		}
	case script == "build":
		a.cover.RunsBuilt++
	case script == "enqueue":
		for _, c := range luascripts.ParseEnqueue(reply).Conflicts {
			a.cover.Conflicts++
			if c.Replaced {
				a.cover.Replaced++
			}
		}
	}
}

// turnAnswered: the worker is told of no claim that it does not hold, and not that
// it has lost what it holds.
func (a *auditor) turnAnswered(d *delivery, argv []string, reply luascripts.TurnReply, s *shard) {
	for _, c := range reply.Claims {
		for _, id := range c.IDs {
			if st := orAbsent(s.steps[id]); st.State != Running || st.member != id+":"+argv[3] {
				a.fail("%s is told that it has claimed step %s, which is %s", d.host, id, st.text())
			}
		}
	}
	if d.wait > overtaking {
		for _, c := range reply.Claims {
			a.meddle(c.IDs)
		}
	}
	for member, reason := range reply.Lost {
		if reason == luascripts.ReasonCancelled {
			a.cover.RefusedCancelled++
		} else {
			a.cover.RefusedLost++
		}
		for id, st := range s.steps {
			if st.member == member && st.Left == Nothing {
				a.fail("%s is told that its lease on step %s is gone (%s), and it is not", d.host, id, reason)
			}
		}
	}
}

// overtaking is how long before its start a step may be cancelled without its worker
// knowing, when no message takes long.
const overtaking = 50 * time.Millisecond

// start is called by a handler before it does anything. worker begins the tokens
// of its claims.
func (a *auditor) start(worker, id string) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	st, r := a.find(id), a.ledger.runs[id]
	switch {
	case r == nil:
		a.fail("a handler of %s starts for step %s, which never was", worker, id)
	case st.State == Running && holder(st.member) == worker:
		if n := a.losses(id); n >= lostCap {
			a.fail("a handler of %s starts for step %s, which was lost %d times", worker, id, n)
		}
	case r.dropped.After(r.claimed), st.Left == InLease && holder(st.member) == worker:
		a.cover.Overtaken++ // cancelled since it was claimed
		if late := time.Since(r.dropped); a.calm && late > overtaking {
			a.fail("a handler of %s starts for step %s, %v after it was cancelled", worker, id, late)
		}
	case a.clock.lastJump().After(r.claimed):
	default:
		a.fail("a handler of %s starts for step %s, which is %s", worker, id, st.text())
	}
}

// losses is how often a step was lost, since an operator opened it again if one did.
func (a *auditor) losses(id string) int {
	for _, s := range a.keys.shards {
		if s.steps[id] != nil {
			var started, unstarted, interruptions, limit, forgiven int
			_, _ = fmt.Sscan(s.hashes["tries"][id], &started, &unstarted, &interruptions, &limit, &forgiven) // the rest are zeros
			return started + unstarted - forgiven
		}
	}
	return 0
}

func (a *auditor) find(id string) *step {
	for _, s := range a.keys.shards {
		if st := s.steps[id]; st != nil {
			return st
		}
	}
	return &step{}
}

// holder is the worker that a member `id:worker.random` names.
func holder(member string) string {
	_, token, _ := strings.Cut(member, ":")
	worker, _, _ := strings.Cut(token, ".")
	return worker
}

// finish checks the end: everything has ended, and what was acknowledged exists.
func (a *auditor) finish() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	for id, r := range a.ledger.runs {
		if r.state != Absent && !r.state.Ended() {
			a.fail("step %s has not ended: it is %v (%v)", id, r.state, r.job)
		}
		if r.state == Absent && r.removed == "" && r.completed == 0 {
			a.fail("step %s is gone without a reason (%v)", id, r.job)
		}
	}
	for id, r := range a.ledger.runs {
		if r.job.Plan == "tx" && a.effects != nil {
			a.tookEffect(id, r)
		}
	}
	for _, id := range a.ledger.ackedRuns {
		if a.ledger.runs[id] == nil {
			a.fail("run %s was acknowledged, and never was", id)
		}
	}
	for key, id := range a.ledger.acked {
		if a.ledger.runs[id] == nil {
			a.fail("job %s was acknowledged as run %s, which never was", key, id)
		}
	}
}

// tookEffect checks that a completion transaction was applied with the completion, or
// not at all.
func (a *auditor) tookEffect(id string, r *record) {
	_, followed := a.ledger.jobs["after-"+id]
	if _, begun := a.ledger.jobs["first-after-"+id]; begun != followed {
		a.fail("step %s had another step enqueued: %t, and a run of many: %t", id, followed, begun)
	}
	count := a.effects(id)
	if want := strconv.Itoa(r.completed); (count != want || !followed) && (r.completed > 0 || count != "" || followed) {
		a.fail("step %s completed %d times; its effect was counted %q times, and the step after it enqueued: %t", id, r.completed, count, followed)
	}
	if r.completed > 0 {
		a.cover.Effects++
	}
}
