package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/model"
)

// allowed says what is wrong with a change, "" when nothing is: whether the script
// may make it, and whether it is the right moment.
func (a *auditor) allowed(c *change) string {
	b, n := c.before, c.after
	settles := c.script == "turn" || c.script == "advance" || c.script == "enqueue"
	stored := b.env.Kind != "" && n.env.Kind != "" && n.State != Absent
	if n.env.Failures != b.env.Failures && stored && !settles {
		return "only a settlement counts failures"
	}
	if limit := attemptLimit(c); n.env.Failures > limit {
		return fmt.Sprintf("%d counted attempts of %d", n.env.Failures, limit)
	}
	if run := c.shard.graphs[c.id] != nil || b.flow(); run {
		return a.flowMoved(c)
	}
	switch c.script {
	case "enqueue":
		return a.enqueued(c)
	case "build", "advance", "suspend", "signal", "sweep", "forget":
		return a.manyMoved(c)
	case "turn":
		return a.turned(c)
	case "extend", "clamp":
		if b.State != n.State || b.Left != n.Left || b.member != n.member || b.began && !n.began {
			return "it may only move the end of a lease"
		}
	case "cancel":
		if b.State == Absent || b.Ended() || n.State != Cancelled || n.Left != leaves(b) {
			return "no cancel does that"
		}
	case "delete":
		if n.State != Absent || n.Left != leaves(b) {
			return "no delete does that"
		}
	case "revive":
		if b.State != Discarded && b.State != Cancelled || n.State != Ready || n.Left != b.Left {
			return "no retry does that"
		}
	case "reschedule":
		if !b.Waiting() || n.State != b.State && n.State != Ready {
			return "only what waits gets another time"
		}
	case "purge":
		return c.purged()
	case "trim":
		if !b.Ended() || n.State != Absent || n.Left != b.Left {
			return "only finished steps are trimmed"
		}
	default:
		return "this script changes no step"
	}
	return ""
}

// leaves is what a step leaves behind when it is dropped.
func leaves(s *step) model.Left {
	switch {
	case s.Left != Nothing:
		return s.Left
	case s.State == Ready:
		return InReady
	case s.State == Running:
		return InLease
	}
	return Nothing
}

// enqueued: a new step, one that is handed over at once, or one that waits and gets
// another body.
func (a *auditor) enqueued(c *change) string {
	b, n := c.before, c.after
	if r, known := a.ledger.runs[c.id]; known {
		waits := b.State == Scheduled && n.State == Scheduled || n.State == Ready && (b.State == Scheduled || b.State == Ready)
		if waits && b.Left == Nothing && r.claimed.IsZero() {
			return "" // replaced, before it was ever claimed
		}
		return "the id had been given before"
	}
	if n.State == Running && n.Left == Nothing {
		a.cover.HandedOver++
		return a.offered(n.member)
	}
	if n.Left != Nothing || n.State != Ready && n.State != Scheduled {
		return "no enqueue does that"
	}
	return ""
}

// offered: one step is handed over for each offer.
func (a *auditor) offered(member string) string {
	_, token, _ := strings.Cut(member, ":")
	if _, used := a.tokens["handed "+token]; used {
		return "handed over by an offer that was used before"
	}
	a.tokens["handed "+token] = ""
	return ""
}

// purged: what waits or has ended goes; and with a ready list its void entries.
func (c *change) purged() string {
	b, n := c.before, c.after
	if n.Left == Nothing && b.Left == InReady && (n.State == b.State || b.State == Ready && n.State == Absent) {
		return ""
	}
	if n.State != Absent || b.State == Running || n.Left != b.Left {
		return "no purge does that"
	}
	return ""
}

// turned: by far the most can happen to a step in a turn, in this order: it is
// settled or taken back, it becomes ready, it is claimed.
func (a *auditor) turned(c *change) string {
	b, n := c.before, c.after
	if n.State == Running && n.member != b.member {
		if text := a.freshToken(c); text != "" {
			return text
		}
	}
	settled, expired := false, false
	if b.member != "" && n.member != b.member {
		settled, expired = slices.Contains(c.argv, b.member), b.until <= c.now
		if !settled && !expired {
			return "its lease was neither settled nor at its end"
		}
	}
	switch {
	case b.Left != Nothing:
		return a.ghostTurned(c, settled)
	case b.State == Absent:
		return "it was not stored"
	case b.Ended():
		return "it had ended"
	case b.State == Blocked:
		return "it is blocked"
	case b.Waiting():
		if n.State == b.State {
			return "it still waits, but not as it did"
		}
		if b.due > c.now {
			return fmt.Sprintf("it is due in %d ms", b.due-c.now)
		}
		return c.onto(Ready, Running)
	case b.State == Ready:
		return c.onto(Running)
	case b.member == n.member:
		return "it runs, but not as it did"
	case settled:
		if expired && (n.State == Ready || n.State == Retrying || n.State == Running) {
			a.lost(c)
		}
		if _, _, node := nodeOf(c.id); node {
			return c.onto(Retrying, Snoozed, Scheduled, Ready, Running)
		}
		return c.onto(Absent, Completed, Discarded, Retrying, Snoozed, Scheduled, Ready, Running)
	}
	a.lost(c)
	return c.onto(Ready, Retrying, Running)
}

// onto checks the new state, nothing being left behind.
func (c *change) onto(states ...State) string {
	if c.after.Left != Nothing || !slices.Contains(states, c.after.State) {
		return "no turn does that"
	}
	return ""
}

// ghostTurned: what was left behind is disposed of, or stays.
func (a *auditor) ghostTurned(c *change, settled bool) string {
	b, n := c.before, c.after
	if n.Left == b.Left {
		return "it is void, and yet changed"
	}
	switch {
	case b.Left == InReady:
		a.cover.GhostsOfReady++
	case settled:
		a.cover.GhostsOfSettled++
	default:
		a.cover.GhostsOfReaped++
	}
	if n.State == b.State || b.State == Ready && n.State == Running {
		return ""
	}
	return "no turn does that to a void step"
}

// lost counts what an ended lease was.
func (a *auditor) lost(c *change) {
	if c.before.began {
		a.cover.LostStarted++
	} else {
		a.cover.LostUnstarted++
	}
}

// freshToken: a claim has the token of this call, and no other call had it.
func (a *auditor) freshToken(c *change) string {
	lane, token := c.argv[0]+" "+c.argv[1], c.argv[3]
	if c.after.member != c.id+":"+token {
		return "claimed by a token that is not this call's"
	}
	if by, used := a.tokens[token]; used && by != lane {
		return "claimed by a token that another call had"
	}
	a.tokens[token] = lane
	return ""
}

// attemptLimit is the most failures of a step: the operator's limit, the
// enqueue's, or the definition's.
func attemptLimit(c *change) int {
	if text, ok := c.shard.hashes["tries"][c.id]; ok {
		var s, u, i, limit int
		if _, err := fmt.Sscan(text, &s, &u, &i, &limit); err == nil && limit > 0 {
			return limit
		}
	}
	if c.after.env.MaxAttempts > 0 {
		return c.after.env.MaxAttempts
	}
	return maxAttempts
}
