package model

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Wakeups is the world of workers that wait for work: queues that fill, workers
// that claim from some of them, the lines in which idle workers stand, and the
// messages that wake them. [Wakeups.Search] visits all of it and looks for a
// state in which nothing is under way and yet a worker idles beside a ready step.
type Wakeups struct {
	// Serves has, per worker, the set of queues that it serves, as bits.
	Serves []uint8
	// Slots is how many steps a worker runs at once.
	Slots uint8
	// Steps, Delayed, Pauses and Stops bound what is enqueued at once, what is
	// enqueued with a delay, how often a queue is paused, and how many workers
	// stop.
	Steps, Delayed, Pauses, Stops uint8
	// Without leaves out rules, to see that they are needed.
	Without []Rule
	Bounds  Bounds
}

func (u Wakeups) has(rule Rule) bool { return !slices.Contains(u.Without, rule) }

// Rule is one rule of the wake-ups.
type Rule uint8

// The rules.
const (
	LeaveLine     Rule = iota // a claim takes its caller out of the lines
	WakeForRest               // a claim that leaves ready work behind wakes a worker
	UseOrPassOn               // a worker makes a turn for each wake-up, free slots or not
	PausedIsQuiet             // a paused queue wakes nobody
	ResumeWakes               // a resumed queue wakes a worker
	FirstDueWakes             // a step that becomes the next to be due wakes a worker
	StopPassesOn              // a worker that stops makes a turn after it has left the lines
)

var ruleNames = [...]string{
	"a claim takes its caller out of line", "a claim that leaves work wakes one", "every wake-up makes a turn",
	"a paused queue wakes nobody", "a resume wakes one", "the first to be due wakes one", "who stops passes on",
}

func (r Rule) String() string { return ruleNames[r] }

const (
	lines   = 2 // queues
	waiters = 3 // workers at the most
)

// idler is a worker as far as its waiting goes. The names are those of the real
// one's fields.
type idler struct {
	busy, done          uint8 // handlers that run; results that are to be settled
	look, woken, inLine bool
	turn                uint8 // one of the constants below
	slots               uint8 // that the turn asks for
	registered          bool  // told to the turn
	claimed             uint8 // by the turn, in its reply
	more                bool  // in its reply
	timer               uint8 // set of queues with a step whose time it knows
	message             bool  // a wake-up is on its way to it
	stopping, gone      bool
	last                bool // it has left the lines
}

const (
	noTurn = iota
	sent
	answered
)

type hall struct {
	ready, delayed, due [lines]uint8
	paused              [lines]bool
	line                [lines][waiters]uint8 // worker + 1, the newest last
	workers             [waiters]idler
	steps, later        uint8 // enqueued so far
	pauses, stops       uint8
}

// Event is something that happens to the workers of a [Wakeups].
type Event struct {
	verb string
	n    int // worker or queue
}

func (e Event) String() string { return fmt.Sprintf("%s %d", e.verb, e.n) }

// WakeupReport is what the search has found: of all states, those in which a
// worker idles beside a ready step, and those in which it idles beside a step
// whose time has come. Only the slow fallback would mend either.
type WakeupReport struct {
	Report
	Late int
}

// Search visits every state.
func (u Wakeups) Search() WakeupReport {
	late := 0
	check := func(h hall) error {
		ready, due := u.stuck(&h)
		if due {
			late++
		}
		if ready {
			return errors.New("a worker idles beside a ready step")
		}
		return nil
	}
	start := hall{}
	for i := range u.Serves {
		start.workers[i].look = true
	}
	return WakeupReport{Report: Explore(start, u.next, check, u.Bounds), Late: late}
}

// stuck tells whether nothing is under way and a worker idles beside work.
func (u Wakeups) stuck(h *hall) (ready, due bool) {
	for i := range u.Serves {
		w := &h.workers[i]
		if w.message || w.turn != noTurn || u.worth(w) || w.stopping && !w.gone {
			return false, false
		}
	}
	for i, serves := range u.Serves {
		w := &h.workers[i]
		if w.stopping || w.busy >= u.Slots {
			continue
		}
		for q := range lines {
			if serves&(1<<q) != 0 && !h.paused[q] {
				ready = ready || h.ready[q] > 0
				due = due || h.due[q] > 0
			}
		}
	}
	return ready, due
}

func (u Wakeups) free(w *idler) uint8 {
	if w.stopping {
		return 0
	}
	return u.Slots - w.busy
}

// worth is the worker's decision to make a turn.
func (u Wakeups) worth(w *idler) bool {
	if w.turn != noTurn || w.gone {
		return false
	}
	return w.done > 0 || w.look && u.free(w) > 0 || w.woken && u.has(UseOrPassOn)
}

// next lists what may happen.
func (u Wakeups) next(h hall, visit func(Event, hall)) {
	for q := range lines {
		u.queue(h, q, visit)
	}
	for i := range u.Serves {
		u.worker(h, i, visit)
	}
}

func (u Wakeups) queue(h hall, q int, visit func(Event, hall)) {
	if h.steps < u.Steps {
		to := h
		to.steps++
		to.ready[q]++
		u.wake(&to, q)
		visit(Event{"enqueue into", q}, to)
	}
	if h.later < u.Delayed && h.delayed[q] == 0 {
		to := h
		to.later++
		to.delayed[q]++
		if u.has(FirstDueWakes) {
			u.wake(&to, q)
		}
		visit(Event{"enqueue with a delay into", q}, to)
	}
	if h.delayed[q] > 0 {
		to := h
		to.delayed[q]--
		to.due[q]++
		for i := range u.Serves {
			if w := &to.workers[i]; w.timer&(1<<q) != 0 {
				w.look, w.timer = true, 0
			}
		}
		visit(Event{"a step is due in", q}, to)
	}
	switch {
	case h.paused[q]:
		to := h
		to.paused[q] = false
		if u.has(ResumeWakes) {
			u.wake(&to, q)
		}
		visit(Event{"resume", q}, to)
	case h.pauses < u.Pauses:
		to := h
		to.pauses++
		to.paused[q] = true
		visit(Event{"pause", q}, to)
	}
}

// wake tells the newest in line.
func (u Wakeups) wake(h *hall, q int) {
	if h.paused[q] && u.has(PausedIsQuiet) {
		return
	}
	for k := waiters - 1; k >= 0; k-- {
		if i := h.line[q][k]; i != 0 {
			h.line[q][k] = 0
			h.workers[i-1].message = true
			return
		}
	}
}

// leave takes a worker out of one line.
func (h *hall) leave(q, i int) {
	kept, n := [waiters]uint8{}, 0
	for _, who := range h.line[q] {
		if who != 0 && int(who) != i+1 {
			kept[n] = who
			n++
		}
	}
	h.line[q] = kept
}

func (h *hall) join(q, i int) {
	h.leave(q, i)
	for k := range h.line[q] {
		if h.line[q][k] == 0 {
			h.line[q][k] = uint8(i + 1)
			return
		}
	}
}

func (u Wakeups) worker(h hall, i int, visit func(Event, hall)) {
	w := &h.workers[i]
	if w.message {
		to := h
		me := &to.workers[i]
		me.message = false
		if !me.gone {
			me.look, me.woken = true, true
			me.inLine = me.inLine && bits.OnesCount8(u.Serves[i]) > 1
		}
		visit(Event{"a wake-up reaches", i}, to)
	}
	if w.gone {
		return
	}
	if w.busy > 0 {
		to := h
		to.workers[i].busy--
		to.workers[i].done++
		visit(Event{"a handler ends at", i}, to)
	}
	if !w.stopping && h.stops < u.Stops {
		to := h
		to.stops++
		to.workers[i].stopping = true
		visit(Event{"stops:", i}, to)
	}
	switch {
	case w.turn == sent:
		u.execute(&h, i)
		visit(Event{"a turn is executed for", i}, h)
	case w.turn == answered:
		u.answer(&h, i)
		visit(Event{"a turn is answered for", i}, h)
	case u.worth(w):
		u.prepare(w)
		visit(Event{"a turn is sent by", i}, h)
	case w.stopping && w.busy == 0:
		u.depart(&h, i, visit)
	}
}

// depart ends a worker: it leaves the lines, makes a last turn if it has to pass
// something on, and is gone.
func (u Wakeups) depart(h *hall, i int, visit func(Event, hall)) {
	w := &h.workers[i]
	if !w.last {
		for q := range lines {
			h.leave(q, i)
		}
		w.last = true
		w.woken = w.woken || u.has(StopPassesOn)
		visit(Event{"leaves the lines:", i}, *h)
		return
	}
	w.gone = true
	visit(Event{"is gone:", i}, *h)
}

// prepare is what a worker sends.
func (u Wakeups) prepare(w *idler) {
	w.turn, w.slots = sent, u.free(w)
	w.registered = w.inLine
	w.inLine = w.slots > 0
	w.done, w.look, w.woken = 0, false, false
}

// execute is the turn script.
func (u Wakeups) execute(h *hall, i int) {
	w, serves := &h.workers[i], u.Serves[i]
	w.claimed, w.more, w.timer = 0, false, 0
	for q := range lines {
		if serves&(1<<q) == 0 {
			continue
		}
		if w.registered && u.has(LeaveLine) {
			h.leave(q, i)
		}
		h.ready[q] += h.due[q]
		h.due[q] = 0
	}
	for q := range lines {
		if serves&(1<<q) != 0 && !h.paused[q] {
			n := min(h.ready[q], w.slots-w.claimed)
			h.ready[q] -= n
			w.claimed += n
		}
	}
	w.more = w.slots > 0 && w.claimed >= w.slots
	for q := range lines {
		if serves&(1<<q) == 0 {
			continue
		}
		if h.ready[q] > 0 && u.has(WakeForRest) {
			u.wake(h, q)
		}
		if w.slots > 0 && !w.more {
			h.join(q, i)
			if h.delayed[q] > 0 {
				w.timer |= 1 << q
			}
		}
	}
	w.turn = answered
}

// answer is what a worker does with the reply. A worker that stops gives back
// what it gets, which this leaves out: it is like an enqueue.
func (u Wakeups) answer(h *hall, i int) {
	w := &h.workers[i]
	w.turn = noTurn
	w.busy += w.claimed
	w.look = w.look || w.more
	w.claimed, w.more, w.slots, w.registered = 0, false, 0, false
}
