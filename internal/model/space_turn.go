package model

import (
	"math"
	"slices"
)

// Settlement ends one claim.
type Settlement struct {
	ID, Token string
	Delay     int64
	Body      string // of Retry, Snooze and Discard
	Result    string // of Keep
	Keep      int64  // until when
}

// Group settles claims of one queue in one way.
type Group struct {
	Queue string
	Op    Op
	List  []Settlement
}

// Room is how many steps of a queue a turn may claim.
type Room struct {
	Queue string
	N     int
}

// Quota asks for steps of one queue and lane.
type Quota struct {
	Queue string
	Lane  int8
	N     int
}

// Turn is what a turn asks for.
type Turn struct {
	Worker, Token string
	Lease, Wait   int64
	Wanted        int
	Budget        int // of steps to take back and to promote
	Rooms         []Room
	Quotas        []Quota
	Groups        []Group
}

// Claims are what a turn has taken of one queue and lane.
type Claims struct {
	Queue string
	Lane  int8
	IDs   []string
}

// TurnAnswer is what a turn brings.
type TurnAnswer struct {
	Lost   map[string]string // id:token → lost or cancelled
	Claims []Claims
	Next   int64 // ms until something is due, -1 for nothing
	Rank   int
	More   bool
}

// Turn settles, takes back, promotes and claims.
func (s *Space) Turn(t Turn) TurnAnswer {
	a := TurnAnswer{Lost: map[string]string{}, Next: -1}
	for _, r := range t.Rooms {
		s.leave(r.Queue, t.Worker)
	}
	delayed := map[string]bool{}
	for _, g := range t.Groups {
		s.settle(g, a.Lost, delayed)
	}
	soonest := int64(math.MaxInt64)
	for _, r := range t.Rooms {
		s.reap(r.Queue, &t.Budget, delayed, &a.More)
		for _, state := range []State{Scheduled, Retrying, Snoozed} {
			s.promote(r.Queue, state, &t.Budget, &a.More)
		}
		soonest = min(soonest, s.upcoming(r.Queue))
	}
	claimed, room := s.claim(t, &a)
	if t.Wanted > 0 && claimed >= t.Wanted {
		a.More = true
	}
	s.linesAfter(t, room, delayed, &a)
	if claimed > 0 {
		soonest = min(soonest, s.Now+t.Lease)
	}
	if soonest < math.MaxInt64 {
		a.Next = max(soonest-s.Now, 0)
	}
	return a
}

func (s *Space) settle(g Group, lost map[string]string, delayed map[string]bool) {
	for _, st := range g.List {
		member := st.ID + ":" + st.Token
		e := s.Steps[st.ID]
		if e == nil || !e.Held() || e.Token != st.Token {
			lost[member] = "lost"
			continue
		}
		if e.Step.Settle(g.Op, e.Lease.Token, s.Now, st.Delay) == Dropped {
			lost[member] = "cancelled"
			s.disposed(e)
			continue
		}
		s.keep(g.Op, st, e)
		delayed[g.Queue] = delayed[g.Queue] || g.Op == Retry || g.Op == Snooze || g.Op == PutBack
	}
}

// keep is what a settlement that counts leaves behind.
func (s *Space) keep(op Op, st Settlement, e *Entry) {
	switch op {
	case Complete:
		s.free(e.ID, false)
		s.forget(e.ID, false)
		delete(s.Steps, e.ID)
	case Keep:
		s.free(e.ID, false)
		e.At = st.Keep
		s.Results[e.ID] = st.Result
	case Discard:
		s.free(e.ID, false)
		e.At, e.Body = s.Now, st.Body
	case Retry, Snooze:
		e.Body = st.Body
	case GiveBack, Release:
		s.first(e)
	}
}

// disposed is an entry whose ghost was settled: a step that was opened again
// stands first from now on.
func (s *Space) disposed(e *Entry) {
	if e.State == Ready {
		s.first(e)
	}
	s.settled(e)
}

func (s *Space) reap(queue string, budget *int, delayed map[string]bool, more *bool) {
	n, most := 0, share(*budget)
	for _, e := range s.Leased(queue) {
		if e.Lease.Until > s.Now {
			break
		}
		if n == most {
			*more = true
			break
		}
		n++
		if _, lost := e.Step.Reap(s.Now); !lost {
			s.disposed(e)
			continue
		}
		s.Notes[e.ID]++
		if e.State == Ready {
			s.first(e)
		} else {
			delayed[queue] = true
		}
	}
	*budget -= n
	*more = *more || n > 0 && n == most
}

func (s *Space) promote(queue string, state State, budget *int, more *bool) {
	n, most := 0, share(*budget)
	for _, e := range s.In(queue, state) {
		if n == most {
			*more = *more || e.Due <= s.Now
			break
		}
		if !e.Promote(s.Now) {
			break
		}
		n++
		s.last(e)
	}
	*budget -= n
	*more = *more || n > 0 && n == most
}

// share is how much of the budget one index takes at the most.
func share(budget int) int { return (3*budget + 3) / 4 }

// upcoming is when the next lease ends or the next step becomes due.
func (s *Space) upcoming(queue string) int64 {
	at := int64(math.MaxInt64)
	for _, e := range s.Steps {
		if e.Queue == queue && e.Held() {
			at = min(at, e.Lease.Until)
		}
		if e.Queue == queue && e.State.Waiting() {
			at = min(at, e.Due)
		}
	}
	return at
}

func (s *Space) claim(t Turn, a *TurnAnswer) (claimed int, room map[string]int) {
	room = map[string]int{}
	for _, r := range t.Rooms {
		room[r.Queue] = r.N
	}
	for _, q := range t.Quotas {
		want := min(q.N, t.Wanted-claimed, room[q.Queue])
		if want <= 0 || s.Paused[q.Queue] {
			continue
		}
		c := Claims{Queue: q.Queue, Lane: q.Lane}
		ready := s.Ready(q.Queue, q.Lane)
		for _, e := range ready[:min(want, len(ready))] {
			if !e.Take(Lease{Token: 1, Until: s.Now + t.Lease}) {
				a.More = true
				s.settled(e)
				continue
			}
			e.Token = t.Token
			c.IDs = append(c.IDs, e.ID)
			if held := s.Held[e.ID]; held != "" && held[0] == 'u' {
				s.Held[e.ID] = "s" + held[1:]
			}
		}
		if len(c.IDs) > 0 {
			a.Claims = append(a.Claims, c)
			claimed += len(c.IDs)
			room[q.Queue] -= len(c.IDs)
		}
	}
	return claimed, room
}

// linesAfter wakes a worker for what is left, or for a step that this one has
// delayed and will have no room for; and lets this one stand in line, from which
// those are taken whose time is over.
func (s *Space) linesAfter(t Turn, room map[string]int, delayed map[string]bool, a *TurnAnswer) {
	for _, r := range t.Rooms {
		line := len(s.Lines[r.Queue])
		if line > 0 && (delayed[r.Queue] && room[r.Queue] <= 0 || s.anyReady(r.Queue)) {
			s.wake(r.Queue)
		}
		if t.Wait > 0 && !a.More && room[r.Queue] > 0 {
			before := len(s.Lines[r.Queue])
			s.Lines[r.Queue] = slices.DeleteFunc(s.Lines[r.Queue], func(w Waiter) bool { return w.Until < s.Now })
			line -= before - len(s.Lines[r.Queue])
			a.Rank = max(a.Rank, line)
			s.stand(r.Queue, t.Worker, s.Now+t.Wait)
		}
	}
}

func (s *Space) anyReady(queue string) bool {
	for _, e := range s.Steps {
		if e.Queue == queue && e.Listed() {
			return true
		}
	}
	return false
}

// Extension renews one lease.
type Extension struct {
	ID, Token string
	Started   bool
}

// Extend renews leases and tells which are gone.
func (s *Space) Extend(lease int64, list []Extension) map[string]string {
	lost := map[string]string{}
	for _, x := range list {
		e := s.Steps[x.ID]
		if e == nil || !e.Held() || e.Token != x.Token {
			lost[x.ID+":"+x.Token] = "lost"
			continue
		}
		if e.Renew(e.Lease.Token, s.Now+lease, x.Started) == Dropped {
			lost[x.ID+":"+x.Token] = "cancelled"
		}
	}
	return lost
}
