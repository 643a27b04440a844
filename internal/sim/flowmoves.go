package sim

import (
	"slices"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/model"
)

// flow tells that this is a run of many steps as a whole.
func (s *step) flow() bool {
	return s.mark != "" && s.queue == "" && runStates[s.mark] != Absent && s.env.Codec == graphCodec
}

// maxJump is more than all jumps of the clock together.
const maxJump = 20 * 60_000

// flowMoved says what is wrong with a change of a run of many steps, "" when nothing
// is. A run ends once, as its nodes say, unless an operator opens it again.
func (a *auditor) flowMoved(c *change) string {
	b, n := c.before, c.after
	switch move := c.script + " " + b.mark + n.mark; {
	case b.State == Absent && n.mark == "r":
		if c.script != "build" && c.script != "advance" {
			return "only a build makes a run, and the completion that enqueues it"
		}
		if c.script == "advance" {
			a.cover.RunsOfEffects++
		}
		if c.shard.runs[c.id]["up"] != "" {
			a.cover.ChildRuns++
		}
	case n.State == Absent:
		if c.script != "forget" || !b.State.Ended() {
			return "only what has ended is forgotten"
		}
	case n.State.Ended() && !b.State.Ended():
		a.cover.RunsEnded++
		if c.script != "sweep" && move != "advance rc" {
			return "no such end"
		}
		if allowed := c.shard.verdict(c.id, b.mark, c.now); !slices.Contains(allowed, n.mark) {
			return "by its nodes it ends as " + strings.Join(allowed, " or ")
		}
	case !slices.Contains([]string{"sweep rF", "sweep Fr", "sweep rX", "sweep FX", "sweep fr", "sweep cr", "sweep xr"}, move):
		return "a run does not do that"
	}
	return ""
}

// manyMoved says what is wrong with what the scripts of runs and tasks did to a step.
func (a *auditor) manyMoved(c *change) string {
	b, n := c.before, c.after
	_, _, node := nodeOf(c.id)
	if b.Left == InLease && n.Left == Nothing && (c.script == "advance" || c.script == "suspend") {
		a.cover.GhostsOfSettled++
		if b.State != n.State || !slices.Contains(c.argv, b.member) {
			return "a void lease is only taken away by its holder"
		}
		return ""
	}
	switch c.script {
	case "build":
		if !node || b.State != Absent || n.Left != Nothing || n.State != Blocked && n.State != Ready && n.State != Scheduled {
			return "no build does that"
		}
	case "advance":
		return a.advanced(c, node)
	case "suspend":
		if b.State != Running || !slices.Contains(c.argv, b.member) || !c.onto1(Suspended, Retrying, Snoozed, Ready) {
			return "no suspension does that"
		}
		a.cover.SuspendedSteps++
		if n.State == Suspended && n.due >= model.StartLimit && !c.shard.inLine(c.id) {
			return "it waits for ever, and for nothing"
		}
	case "signal":
		if b.State != Suspended || !c.onto1(Ready) {
			return "no signal does that"
		}
	case "sweep":
		return a.swept(c, node)
	case "forget":
		if !node || n.State != Absent || n.Left != b.Left {
			return "no forgetting does that"
		}
	}
	return ""
}

// onto1 tells that nothing is left behind and the new state is one of these.
func (c *change) onto1(states ...State) bool { return c.onto(states...) == "" }

// advanced: a step is settled by its holder, or a node is released by the last of
// those that it depends on.
func (a *auditor) advanced(c *change, node bool) string {
	b, n := c.before, c.after
	switch {
	case b.State == Running && b.Left == Nothing:
		if !slices.Contains(c.argv, b.member) || !c.onto1(Completed, Discarded, Absent) || node && n.State == Absent {
			return "no settlement does that"
		}
	case b.State == Blocked:
		if n.Left != b.Left || n.State != Ready && n.State != Scheduled {
			return "no release does that"
		}
		a.fannedIn(c)
		return c.shard.unmet(c.id)
	case b.State == Absent && b.Left == Nothing && node: // of a run that begins
		if run, _, _ := nodeOf(c.id); c.shard.was(run) != Absent || !c.onto1(Blocked, Ready, Scheduled) {
			return "no beginning of a run does that"
		}
	case b.State == Absent && b.Left == Nothing: // a follow-up
		if !c.onto1(Ready, Scheduled) {
			return "no enqueue does that"
		}
	default:
		return "no settlement does that"
	}
	return ""
}

// swept: nodes are cancelled, released, revived and opened again. What a claim or a
// list still has of them stays there.
func (a *auditor) swept(c *change, node bool) string {
	b, n := c.before, c.after
	left := b.Left
	if n.State == Cancelled && b.Left == Nothing {
		left = leaves(b)
	}
	live := n.State == Ready || n.State == Scheduled
	switch {
	case !node:
		return "the sweep changes nodes only"
	case n.Left != left:
		return "what was left behind is forgotten"
	case n.State == Cancelled:
		if b.State.Ended() && b.State != Cancelled && b.State != Discarded || strings.HasPrefix(b.mark, "x") {
			return "it had ended"
		}
		if b.State == Running {
			a.cover.NodesStopped++
		}
	case b.State == Blocked && live:
		return c.shard.unmet(c.id)
	case b.State == Cancelled && live && strings.HasPrefix(b.mark, "X"):
		a.cover.Revived++
		return c.shard.unmet(c.id)
	case b.State == Cancelled && n.State == Blocked:
		a.cover.Revived++
	case (b.State == Discarded || b.State == Cancelled) && live: // by an operator
		a.cover.Reopened++
	default:
		return "no sweep does that"
	}
	return ""
}
