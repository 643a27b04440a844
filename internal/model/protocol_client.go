package model

import "fmt"

// outcomes are what a handler may return: the first step keeps nothing when it
// completes, the second its result. 0 is a handler that goes on.
var outcomes = [steps][]Op{{0, Complete, Retry, Release}, {0, Keep, Retry, Release}}

// Action is one thing that can happen.
type Action struct {
	verb   string
	worker int
	req    request
}

const operator = -1

func (a Action) String() string {
	who := "operator"
	if a.worker != operator {
		who = fmt.Sprintf("worker %d", a.worker)
	}
	if a.req.kind == 0 {
		return who + ": " + a.verb
	}
	return fmt.Sprintf("%s: %s: %v", who, a.verb, a.req)
}

// work is all that can happen to a worker and its turns.
func (p Protocol) work(w world, i int, visit func(Action, world)) {
	me := &w.procs[i]
	if me.waiting {
		p.resend(w, i, visit)
	} else {
		p.turns(w, me.held, func(to world, req request, settled, claimed uint8) {
			q := &to.procs[i]
			q.waiting, q.settled, q.claimed, q.claim = true, settled, claimed, req.claim
			p.keep(&q.newest, &q.older, req)
			visit(Action{"its reply is lost", i, req}, to)
			to.receive(i, claimed)
			visit(Action{"a turn", i, req}, to)
		})
	}
	if me.late {
		p.turns(w, me.formerHeld, func(to world, req request, _, _ uint8) {
			to.procs[i].late, to.procs[i].formerHeld = false, [steps]uint8{}
			visit(Action{"a turn of the former life arrives late", i, req}, to)
		})
	}
	if int(w.crashes) < p.Crashes {
		p.fail(w, i, visit)
	}
	p.repeat(w, me.newest, p.Without == ReplayGuard, Action{"the last turn arrives again", i, me.newest}, visit)
	p.repeat(w, me.older, p.Without == StaleGuard, Action{"an old turn arrives again", i, me.older}, visit)
}

// resend sends the turn again that was not answered.
func (p Protocol) resend(w world, i int, visit func(Action, world)) {
	me := &w.procs[i]
	if p.Without == ReplayGuard {
		w.moments(func(m moment) {
			to := w
			to.receive(i, p.apply(&to, me.newest, m))
			if m == (moment{}) && to.records != w.records {
				to.wrong = repeated
			}
			visit(Action{"sent again", i, me.newest}, to)
		})
		return
	}
	w.receive(i, p.replayed(&w, me.claimed, me.claim))
	visit(Action{verb: "sent again", worker: i}, w)
}

// turns calls f for every turn that a worker with these handlers can make, and
// what it brings.
func (p Protocol) turns(w world, held [steps]uint8, f func(to world, req request, settled, claimed uint8)) {
	for _, first := range outcomes[0] {
		for _, second := range outcomes[1] {
			for _, claim := range []bool{false, true} {
				req, settled, ok := p.turnOf(&w, held, [steps]Op{first, second}, claim)
				if !ok {
					continue
				}
				w.moments(func(m moment) {
					to := w
					to.tokens = max(to.tokens, req.claim)
					f(to, req, settled, p.apply(&to, req, m))
				})
			}
		}
	}
}

// turnOf makes a turn, if it can be made.
func (p Protocol) turnOf(w *world, held [steps]uint8, ops [steps]Op, claim bool) (req request, settled uint8, ok bool) {
	req.kind = 't'
	for s, op := range ops {
		if op == 0 {
			continue
		}
		if held[s] == 0 {
			return req, 0, false
		}
		if r := &w.records[s]; r.lost >= p.MaxLost || op == Retry && r.failures+1 >= p.MaxAttempts {
			op = Discard
		}
		req.op[s], req.token[s] = op, held[s]
		settled |= 1 << s
	}
	if claim {
		req.claim = w.tokens + 1
		return req, settled, int(w.tokens) < p.Claims
	}
	return req, settled, settled != 0
}

// receive is the reply: what was settled is off the worker's hands, and a handler
// starts for each claim.
func (w *world) receive(i int, claimed uint8) {
	me := &w.procs[i]
	for s := range steps {
		if me.settled&(1<<s) != 0 {
			me.held[s] = 0
		}
		if claimed&(1<<s) == 0 {
			continue
		}
		r := &w.records[s]
		switch {
		case r.ended() || !r.body || r.ghost == 'x':
			w.wrong = startedEnded
		case r.leased&(1<<me.claim) == 0:
			w.wrong = startedLost
		}
		me.held[s] = me.claim
	}
	me.waiting, me.settled, me.claimed, me.claim = false, 0, 0, 0
}

// fail is a worker that is lost, or one that gives up its lane: it keeps its
// results and says them again on another one. Either way one more turn may come
// from the old lane.
func (p Protocol) fail(w world, i int, visit func(Action, world)) {
	w.crashes++
	me := &w.procs[i]
	late := proc{late: !me.waiting, formerHeld: me.held}
	if me.waiting {
		late.formerHeld = [steps]uint8{}
	}
	gaveUp := late
	gaveUp.held = me.held
	*me = late
	visit(Action{verb: "crash", worker: i}, w)
	*me = gaveUp
	visit(Action{verb: "gives up its lane", worker: i}, w)
}

// operate is the operator. A command that is asked for again has no effect, so
// its reply does not matter.
func (p Protocol) operate(w world, visit func(Action, world)) {
	if int(w.orders) < p.Commands {
		for s := range steps {
			for _, kind := range []byte{'x', 'd', 'r'} {
				to := w
				to.orders++
				req := request{kind: kind, subject: uint8(s)}
				p.apply(&to, req, moment{})
				p.keep(&to.newest, &to.older, req)
				visit(Action{"command", operator, req}, to)
			}
		}
	}
	p.repeat(w, w.newest, p.Without == ReplayGuard, Action{"the last command arrives again", operator, w.newest}, visit)
	p.repeat(w, w.older, p.Without == StaleGuard, Action{"an old command arrives again", operator, w.older}, visit)
}

// keep notes a request that may arrive again while the guard against it is out.
func (p Protocol) keep(newest, older *request, req request) {
	if p.Without == ReplayGuard || p.Without == StaleGuard {
		*newest, *older = req, *newest
	}
}

// repeat delivers a request again that no guard refuses.
func (p Protocol) repeat(w world, req request, unguarded bool, action Action, visit func(Action, world)) {
	if !unguarded || req.kind == 0 {
		return
	}
	w.moments(func(m moment) {
		to := w
		p.apply(&to, req, m)
		if m == (moment{}) && to.records != w.records {
			to.wrong = repeated
		}
		visit(action, to)
	})
}

// String names what a request asks for.
func (r request) String() string {
	if r.kind != 't' {
		return fmt.Sprintf("%s %d", map[byte]string{'x': "cancel", 'd': "delete", 'r': "retry"}[r.kind], r.subject)
	}
	text := ""
	for s, op := range r.op {
		if op != 0 {
			text += fmt.Sprintf("%c for %d by %d, ", op, s, r.token[s])
		}
	}
	return text + fmt.Sprintf("claim by %d", r.claim)
}
