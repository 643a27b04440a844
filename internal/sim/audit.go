package sim

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// auditor looks at the whole key space after every script and holds each change
// against what the script may do.
type auditor struct {
	keys   *keyspace
	ledger *ledger
	cover  *Coverage
	clock  *serverClock
	fail   func(format string, args ...any)
	note   func(string)

	full  func() bool                       // the server is at its maxmemory
	calm  bool                              // no message takes long
	tease func(id string, in time.Duration) // has a signal sent then
	// effects reads what the transaction of a step has counted; nil where there are none.
	effects func(id string) string
	meddle  func(ids []string) // has steps cancelled of whose claims the worker will hear later

	tokens map[string]string // which call has used it
	calls  map[string]bool   // applied, by lane and number
}

// change is one step before and after a script.
type change struct {
	id            string
	before, after *step // never nil; absent if need be
	script        string
	argv          []string
	now           int64
	shard         *shard
	steps         map[string]*step // all, after the script
}

// judge is called when a command has been executed.
func (a *auditor) judge(d *delivery) {
	a.cover.Commands++
	script := scriptOf(d.args)
	if script == nil {
		a.plain(d.args)
		return
	}
	keys, argv := keysOf(d.args)
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	partition := ""
	was := map[string]map[string]string{}
	for _, key := range keys {
		if p := a.keys.partition(key); p != "" {
			partition = p
			a.keys.shards[p].keepOld(key, was)
			a.keys.reload(key)
		}
	}
	s := a.keys.shards[partition]
	steps, wrong := s.read()
	failed := len(d.reply) > 0 && d.reply[0] == '-'
	if stirs[script.Name] {
		wrong = append(wrong, s.flows(steps, a.clock.ms())...)
	}
	wrong = append(wrong, a.promised(script.Name, argv, s, was)...)
	for _, text := range wrong {
		a.fail("after %s by %s: %s", script.Name, d.host, text)
	}
	reply, ok := a.reply(d)
	applied := ok && luascripts.StatusOf(reply) == luascripts.OK
	changed := false
	for id := range union(s.steps, steps) {
		c := &change{
			id: id, before: orAbsent(s.steps[id]), after: orAbsent(steps[id]), script: script.Name, argv: argv, now: a.clock.ms(),
			shard: s, steps: steps,
		}
		if same(c.before, c.after) {
			continue
		}
		changed = true
		a.note(fmt.Sprintf("%s by %s: %s %s", script.Name, d.host, id, c))
		if text := a.allowed(c); text != "" {
			a.fail("%s by %s made %s of step %s: %s", script.Name, d.host, c, id, text)
		}
		a.remember(c)
	}
	if changed && !applied && ok {
		a.fail("%s by %s has answered %v and changed steps", script.Name, d.host, luascripts.StatusOf(reply))
	}
	a.refused(script.Name, d, failed, changed)
	s.steps = steps
	if ok {
		a.answered(script.Name, d, argv, reply, changed, s)
	}
}

// refused checks a script that failed, which has to have changed nothing; and what a
// full server does.
func (a *auditor) refused(script string, d *delivery, failed, changed bool) {
	full := bytes.HasPrefix(d.reply, []byte("-OOM"))
	switch {
	case failed && changed:
		a.fail("%s by %s has failed half-way: %s", script, d.host, d.reply)
	case full && script != "enqueue" && script != "build" && script != "signal":
		a.fail("a full server refuses %s by %s", script, d.host)
	case full:
		a.cover.Full++
	case failed:
		a.cover.Failed++
	case changed && a.full():
		a.cover.FullDrained++
		if script == "enqueue" || script == "build" {
			a.fail("a full server takes an %s by %s", script, d.host)
		}
	}
}

// reply reads the answer; ok is false for an error.
func (a *auditor) reply(d *delivery) (list []any, ok bool) {
	value, _, ok := parseReply(d.reply)
	list, isList := value.([]any)
	return list, ok && isList && len(list) > 0
}

func union(a, b map[string]*step) map[string]struct{} {
	all := make(map[string]struct{}, len(a))
	for id := range a {
		all[id] = struct{}{}
	}
	for id := range b {
		all[id] = struct{}{}
	}
	return all
}

func orAbsent(s *step) *step {
	if s == nil {
		return &step{}
	}
	return s
}

// same compares what scripts change.
func same(a, b *step) bool {
	return a.State == b.State && a.Left == b.Left && a.member == b.member && a.until == b.until && a.began == b.began &&
		a.due == b.due && a.lane == b.lane && sameBody(a, b) && a.mark == b.mark && a.bare == b.bare
}

// sameBody compares bodies, where there are two.
func sameBody(a, b *step) bool {
	return a.env.Kind == "" || b.env.Kind == "" || a.env.Failures == b.env.Failures && bytes.Equal(a.env.Payload, b.env.Payload)
}

func (c *change) String() string {
	return fmt.Sprintf("%s → %s", c.before.text(), c.after.text())
}

func (s *step) text() string {
	text := s.State.String()
	if s.mark != "" {
		text += " " + s.mark
	}
	if s.Left != Nothing {
		text += fmt.Sprintf("+left%d", s.Left)
	}
	if s.member != "" {
		_, token, _ := strings.Cut(s.member, ":")
		text += " by " + token
	}
	return text
}

// remember takes a change into the ledger.
func (a *auditor) remember(c *change) {
	r := a.ledger.runs[c.id]
	if r == nil {
		r = &record{}
		a.ledger.runs[c.id] = r
		a.born(c, r)
	} else if c.script == "enqueue" && c.after.env.Kind != "" {
		r.job = jobOf(c.id, &c.after.env) // replaced
	}
	was := c.before.State
	r.state = c.after.State
	switch {
	case c.after.State == was:
	case c.after.State == Completed, c.after.State == Absent && (c.script == "turn" || c.script == "advance"):
		r.ended++
		r.completed++
		a.cover.Completed++
	case c.after.State == Discarded:
		r.ended++
		a.cover.Discarded++
		a.discarded(c, r)
	case c.after.State == Cancelled:
		r.ended++
		r.dropped = time.Now()
		a.cover.Cancelled++
	case c.after.State == Absent:
		r.removed = c.script
		if c.script != "trim" && c.script != "forget" {
			r.dropped = time.Now()
			a.cover.Deleted++
		}
	case c.script == "revive" || c.before.State.Ended() && c.script == "sweep":
		if _, _, node := nodeOf(c.id); !node {
			r.completed = 0
		}
		r.dropped, r.reopened = time.Time{}, time.Now()
		a.cover.Retried++
		if c.after.Left != Nothing {
			a.cover.GhostsTurned++
		}
	}
	if c.after.State == Running && c.after.member != c.before.member {
		r.claimed = time.Now()
		a.cover.Claimed++
	}
	if c.after.State == Suspended && c.after.due != c.before.due {
		a.tease(c.id, time.Duration(c.after.due-c.now)*time.Millisecond)
	}
	if c.after.began && !c.before.began && c.script == "extend" {
		a.cover.Confirmed++
	}
	a.reached(c, r)
	if r.completed > 1 {
		a.fail("step %s was completed twice", c.id)
	}
}

// born is a step that is seen for the first time.
func (a *auditor) born(c *change, r *record) {
	if c.after.State == Absent {
		return
	}
	r.job, r.flow = jobOf(c.id, &c.after.env), c.after.env.Codec == graphCodec
	a.cover.Enqueued++
	// A job is stored once, whatever an operator does to it. Only a task that has been told
	// of its child's failure may start that child anew, when it is opened again.
	if other, twice := a.ledger.jobs[r.job.Key]; twice && !c.shard.failureTold(other) {
		a.fail("job %s is stored twice: as %s and as %s", r.job.Key, other, c.id)
	}
	a.ledger.jobs[r.job.Key] = c.id
	if r.job.Delay < 0 || c.script != "enqueue" {
		return
	}
	due := c.now + r.job.Delay.Milliseconds()
	if c.after.State == Ready && r.job.Delay > 0 || c.after.State == Scheduled && c.after.due != due {
		a.fail("step %s is %v, due %d: it was enqueued with a delay of %v at %d", c.id, c.after.State, c.after.due, r.job.Delay, c.now)
	}
}

// discarded looks at the reason.
func (a *auditor) discarded(c *change, r *record) {
	if c.shard.graphs[c.id] != nil {
		a.cover.RunsFailed++
		return
	}
	history := c.after.env.History
	if len(history) == 0 {
		a.fail("step %s was discarded without a reason", c.id)
		return
	}
	if history[len(history)-1].Code == "attempt_lost" {
		a.cover.Poisoned++
		r.lostCode = true
	}
}
