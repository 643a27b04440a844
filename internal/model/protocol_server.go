package model

// What the scripts do to the keys, entry by entry. After each operation the
// record must stand for what the operation makes of the [Step].

// agrees compares the record with the step that it should stand for.
func (w *world) agrees(s int, want Step) {
	got := w.records[s].logical()
	if w.wrong == right && (got.State != want.State || got.Left != want.Left || got.Held() && got.Lease.Token != want.Lease.Token) {
		w.wrong = diverged
	}
}

// moment is what time has brought about when a request arrives: sets of steps
// whose lease has ended, and whose wait is over.
type moment struct{ ended, due uint8 }

// moments calls f for everything that time may have brought about.
func (w *world) moments(f func(moment)) {
	var most moment
	for s := range steps {
		if w.records[s].leased != 0 {
			most.ended |= 1 << s
		}
		if w.records[s].retrying {
			most.due |= 1 << s
		}
	}
	for ended := range uint8(1 << steps) {
		for due := range uint8(1 << steps) {
			if ended&^most.ended == 0 && due&^most.due == 0 {
				f(moment{ended, due})
			}
		}
	}
}

// replayed is the stored answer to a turn.
func (p Protocol) replayed(w *world, claimed, token uint8) (told uint8) {
	for s := range steps {
		r := &w.records[s]
		if claimed&(1<<s) == 0 || !r.body {
			continue
		}
		if held := r.leased&(1<<token) != 0 && r.ghost == 0; held || p.Without == HeldGuard {
			told |= 1 << s
		}
	}
	return told
}

func (p Protocol) apply(w *world, req request, m moment) (claimed uint8) {
	switch req.kind {
	case 't':
		return p.turn(w, req, m)
	case 'x':
		p.cancel(w, int(req.subject))
	case 'd':
		p.remove(w, int(req.subject))
	case 'r':
		p.revive(w, int(req.subject))
	}
	return 0
}

// turn settles, reaps, promotes and claims.
func (p Protocol) turn(w *world, req request, m moment) (claimed uint8) {
	for s := range steps {
		if req.op[s] != 0 {
			p.settle(w, s, req.op[s], req.token[s])
		}
	}
	for s := range steps {
		if m.ended&(1<<s) != 0 {
			p.reap(w, s)
		}
		if m.due&(1<<s) != 0 {
			p.promote(w, s)
		}
		if req.claim != 0 && p.claim(w, s, req.claim) {
			claimed |= 1 << s
		}
	}
	return claimed
}

func (p Protocol) settle(w *world, s int, op Op, token uint8) {
	r := &w.records[s]
	want := r.logical()
	want.Settle(op, int(token), 0, 1)
	bit := uint8(1) << token
	if r.leased&bit == 0 && p.Without != FenceGuard {
		w.agrees(s, want)
		return
	}
	r.leased &^= bit
	if r.ghost != 0 && p.Without != GhostOfLease {
		r.dispose()
		w.agrees(s, want)
		return
	}
	switch op {
	case Complete:
		r.body = false
		r.failures, r.lost = 0, 0
		r.settled++
	case Keep:
		r.completed = true
		r.settled++
	case Discard:
		r.failures++
		r.discarded = true
		r.settled++
	case Retry:
		r.failures++
		r.retrying = true
	case Release:
		r.ready++
	}
	if r.settled > 1 {
		w.wrong = endedTwice
	}
	w.agrees(s, want)
}

// dispose ends what was left: dropped, or ready again.
func (r *record) dispose() {
	if r.ghost == 'r' {
		r.ready++
	}
	r.ghost = 0
}

func (p Protocol) reap(w *world, s int) {
	r := &w.records[s]
	if r.leased == 0 {
		return // settled in this very turn
	}
	want := r.logical()
	want.Reap(0)
	r.leased = 0
	switch {
	case r.ghost != 0 && p.Without != GhostOfReaped:
		r.dispose()
	case r.body:
		r.lost++
		if r.lost < 2 {
			r.ready++
		} else {
			r.retrying = true // for a spreading delay
		}
	}
	w.agrees(s, want)
}

func (p Protocol) promote(w *world, s int) {
	r := &w.records[s]
	if !r.retrying {
		return
	}
	want := r.logical()
	want.Promote(want.Due)
	r.retrying = false
	r.ready++
	w.agrees(s, want)
}

func (p Protocol) claim(w *world, s int, token uint8) bool {
	r := &w.records[s]
	if r.ready == 0 {
		return false
	}
	want := r.logical()
	want.Take(Lease{Token: int(token)})
	r.ready--
	dropped := r.ghost == 'x'
	if p.Without != GhostOfReady {
		r.ghost = 0
	} else {
		dropped = false
	}
	if dropped || !r.body {
		w.agrees(s, want)
		return false
	}
	r.leased |= 1 << token
	w.agrees(s, want)
	return true
}

func (p Protocol) cancel(w *world, s int) {
	r := &w.records[s]
	want := r.logical()
	want.Cancel()
	if r.body && (!r.ended() || p.Without == EndedGuard) {
		if r.live() {
			r.ghost = 'x'
		}
		r.retrying = false
		r.cancelled = true
	}
	w.agrees(s, want)
}

func (p Protocol) remove(w *world, s int) {
	r := &w.records[s]
	want := r.logical()
	want.Delete()
	if r.body {
		ghost, ready, leased := r.ghost, r.ready, r.leased
		if r.live() || ghost != 0 {
			ghost = 'x'
		}
		*r = record{ghost: ghost, ready: ready, leased: leased}
	}
	w.agrees(s, want)
}

func (p Protocol) revive(w *world, s int) {
	r := &w.records[s]
	want := r.logical()
	want.Revive(0)
	if r.body && (r.discarded || r.cancelled) {
		r.discarded, r.cancelled = false, false
		r.settled, r.lost, r.failures = 0, 0, 0
		if r.ghost != 0 && p.Without != ReviveFlips {
			r.ghost = 'r'
		} else {
			r.ready++
		}
	}
	w.agrees(s, want)
}

func (r *record) ended() bool { return r.completed || r.discarded || r.cancelled }

// live tells that the step is in no sorted index: it is ready or leased.
func (r *record) live() bool { return !r.ended() && !r.retrying }
