package luascripts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
)

// way is one verb under one condition, by one script.
type way struct{ verb, when, script string }

// drive tries a way on every step of everyState, whichever state it is in.
var drive = map[way]func(l *lab){
	{"enqueue", "due at once", "enqueue"}: func(l *lab) { l.enqueueAll() },
	{"enqueue", "due later", "enqueue"}:   func(l *lab) { l.enqueueAll(due("+1")) },
	{"enqueue", "alone, to a worker that offers a slot", "enqueue"}: func(l *lab) {
		l.put(l.rdb.Del(ctx, l.key("ready:q:h"), l.key("ready:q:d"), l.key("ready:q:l")))
		for _, id := range everyStep {
			if l.stateOf(id) == "" {
				l.offer("idle")
				l.enqueuePlain(id)
			}
		}
	},
	{"replace", "due at once, never claimed", "enqueue"}: func(l *lab) {
		l.enqueue(item("50", unique("U", 0, replace)))
	},
	{"promote", "its time has come", "turn"}: func(l *lab) {
		l.now += 20_000
		l.turn(l.turnInput())
	},
	{"promote", "by an operator", "reschedule"}: func(l *lab) {
		for _, id := range everyStep {
			l.reschedule(id, "")
		}
	},
	{"claim", "", "turn"}:                             func(l *lab) { l.claim(99) },
	{"complete", "its result is kept", "turn"}:        settleAll(luascripts.OpKeep),
	{"complete", "nothing is kept", "turn"}:           settleAll(luascripts.OpComplete),
	{"fail", "attempts are left", "turn"}:             settleAll(luascripts.OpRetry),
	{"discard", "", "turn"}:                           settleAll(luascripts.OpDiscard),
	{"snooze", "", "turn"}:                            settleAll(luascripts.OpSnooze),
	{"release", "not started or interrupted", "turn"}: settleAll(luascripts.OpGiveBack),
	{"release", "not for this worker", "turn"}:        settleAll(luascripts.OpPutBack),
	{"reap", "first lost lease", "turn"}:              func(l *lab) { l.expire(everyStep...); l.turn(l.turnInput()) },
	{"reap", "later lost lease", "turn"}: func(l *lab) {
		l.put(l.rdb.HSet(ctx, l.key("tries"), "3", "1 0 0 0 0"))
		l.expire(everyStep...)
		l.turn(l.turnInput())
	},
	{"cancel", "", "cancel"}: func(l *lab) { l.cancel(everyStep...) },
	{"retry", "", "revive"}:  func(l *lab) { l.revive(everyStep...) },
	{"delete", "", "delete"}: func(l *lab) { l.delete(everyStep...) },
	{"trim", "", "trim"}: func(l *lab) {
		l.now += 60_000
		for _, index := range []string{"completed:q", "discarded:q", "cancelled:q"} {
			l.trim(index, 0, 99, 99)
		}
	},
	{"purge", "", "purge"}: func(l *lab) {
		for _, index := range []string{"retrying:q", "snoozed:q", "waiting:q", "scheduled:q", "ready:q:h", "ready:q:d", "ready:q:l"} {
			l.purge(index, strings.HasPrefix(index, "ready"), 99)
		}
	},
	{"complete", "its result is kept", "advance"}:         advanceAll(luascripts.OpKeep),
	{"complete", "nothing is kept", "advance"}:            advanceAll(luascripts.OpComplete),
	{"discard", "", "advance"}:                            advanceAll(luascripts.OpDiscard),
	{"suspend", "for a time or a signal", "suspend"}:      suspendAll(luascripts.SuspendWaiting),
	{"fail", "a recorded step has tries left", "suspend"}: suspendAll(luascripts.SuspendRetrying),
	{"snooze", "by a recorded step", "suspend"}:           suspendAll(luascripts.SuspendSnoozed),
	{"suspend", "its signal is there", "suspend"}: func(l *lab) {
		for _, id := range all {
			l.put(l.rdb.HSet(ctx, l.key("journal:"+id), "gt:go", 1, "g:go:1", "payload"))
		}
		suspendAll(luascripts.SuspendWaiting, awaiting("go"))(l)
	},
	{"signal", "it waits for this one", "signal"}: func(l *lab) {
		for _, id := range everyStep {
			l.put(l.rdb.HSet(ctx, l.key("journal:"+id), "gw:go", id+" q 2;"))
			l.signal(id, toTask)
		}
	},
	// What is in no row: it changes no state.
	{"record", "", "record"}: func(l *lab) {
		for _, m := range memberOf {
			l.record(rec(m, true, "r:a#1", "x"))
		}
	},
	{"take", "", "take"}: func(l *lab) {
		for _, m := range memberOf {
			l.take(m, "go", start)
		}
	},
	{"extend", "", "extend"}:         func(l *lab) { l.extend(3, memberOf...) },
	{"reschedule", "", "reschedule"}: func(l *lab) { l.reschedule("1", "1800000000500") },
	{"pause", "", "pause"}:           func(l *lab) { l.pause(true); l.claim(9) },
	{"clamp", "", "clamp"}:           func(l *lab) { l.clamp(1, 99) },
	{"tidy", "", "tidy"}:             func(l *lab) { l.tidy(99) },
	{"open", "", "open"}:             func(l *lab) { l.open("z.1") },
	{"state", "", "state"}:           func(l *lab) { l.step("3") },
	{"build", "", "build"}:           func(l *lab) { l.build(l.graphRun("60", 2)) },
	{"forget", "", "forget"}:         func(l *lab) { l.forget(luascripts.ForgetInput{ID: "3", Now: true, Last: true}) },
	{"sweep", "", "sweep"}: func(l *lab) {
		l.sweep(l.sweepInput(l.opsOf("3", op("x", 0, "", ""), op("c", 0, "", "XR"))))
	},
	{"replace", "due later", "enqueue"}: func(l *lab) {
		l.enqueue(item("50", due("+9"), unique("U", 0, replace)))
	},
}

// everyStep are the steps of everyState, and 10, which waits.
var everyStep = append(slices.Clone(all), "10")

// memberOf is each step as if it were running.
var memberOf = func() (out []string) {
	for _, id := range everyStep {
		out = append(out, id+":t1")
	}
	return out
}()

func settleAll(op luascripts.Op) func(l *lab) {
	return func(l *lab) { l.settle(op, memberOf...) }
}

func advanceAll(op luascripts.Op) func(l *lab) {
	return func(l *lab) {
		for _, m := range memberOf {
			l.advance(l.single(op, m, l.withJournal))
		}
	}
}

func suspendAll(in luascripts.SuspendIn, change ...func(*luascripts.SuspendItem)) func(l *lab) {
	return func(l *lab) {
		for _, m := range memberOf {
			l.suspend(l.sleeping(m, append(change, func(it *luascripts.SuspendItem) { it.In = in })...))
		}
	}
}

// enqueueAll tries each id that there is not yet: no block is handed out twice.
func (l *lab) enqueueAll(change ...func(*luascripts.EnqueueItem)) {
	for _, id := range everyStep {
		if l.stateOf(id) == "" {
			l.enqueue(item(id, change...))
		}
	}
}

// stateOf returns the logical state of a step: its index minus ghosts.
func (l *lab) stateOf(id string) cyclone.StepState {
	l.Helper()
	reply := l.step(id)
	switch {
	case reply.State == luascripts.Absent:
		return ""
	case reply.State != luascripts.Live:
		return cyclone.StepState(reply.State)
	case reply.Ghost == "" && count(l, "leased:q", id+":") > 0:
		return cyclone.StepRunning
	}
	return cyclone.StepReady
}

// TestTransitions drives every verb of every script on a step in every state: what
// the table says happens, and nothing else.
func TestTransitions(t *testing.T) {
	t.Parallel()
	to := map[way]map[cyclone.StepState]cyclone.StepState{}
	for _, tr := range queue.Transitions() {
		w := way{tr.Verb, tr.When, tr.Script}
		if drive[w] == nil {
			t.Errorf("%v is in the table and not driven", w)
			continue
		}
		if to[w] == nil {
			to[w] = map[cyclone.StepState]cyclone.StepState{}
		}
		if _, twice := to[w][tr.From]; twice {
			t.Errorf("%v from %q is in the table twice", w, tr.From)
		}
		to[w][tr.From] = tr.To
	}
	driven := map[string]bool{}
	for w, f := range drive {
		driven[w.script] = true
		t.Run(w.verb+" "+w.when+" "+w.script, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				everyState(l)
				l.bulk("waiting:q", []string{"10"}, l.now+1000, 1)
				before := map[string]cyclone.StepState{}
				for _, id := range everyStep {
					before[id] = l.stateOf(id)
				}
				f(l)
				for _, id := range everyStep {
					want, moves := to[w][before[id]]
					if !moves {
						want = before[id]
					}
					if got := l.stateOf(id); got != want {
						l.Errorf("%s of a step that was %q: it is %q, not %q", w.verb, before[id], got, want)
					}
				}
			})
		})
	}
	for _, s := range luascripts.All() {
		if !driven[s.Name] {
			t.Errorf("script %s is not driven", s.Name)
		}
	}
}
