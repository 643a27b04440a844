package model

// State is where a step is. Every step is in exactly one.
type State uint8

// The states of a step; Absent is that of one that is not stored.
const (
	Absent State = iota
	Scheduled
	Retrying
	Snoozed
	Ready
	Running
	Completed
	Discarded
	Cancelled
)

var stateNames = [...]string{"absent", "scheduled", "retrying", "snoozed", "ready", "running", "completed", "discarded", "cancelled"}

func (s State) String() string { return stateNames[s] }

// Waiting tells that the step waits for its time.
func (s State) Waiting() bool { return s == Scheduled || s == Retrying || s == Snoozed }

// Live tells that the step is ready or running.
func (s State) Live() bool { return s == Ready || s == Running }

// Ended tells that the step is finished, for good but for an operator.
func (s State) Ended() bool { return s >= Completed }

// Left is what a former life of a step has left behind: an entry that could not
// be found by the step's id when it was cancelled or deleted. Whoever takes the
// entry out disposes of it.
type Left uint8

// Where something may be left.
const (
	Nothing Left = iota
	InReady
	InLease
)

// Lease is the claim of one token. Times are ms.
type Lease struct {
	Token   int // 0 for none
	Until   int64
	Started bool
}

// Tries is what others than the lease's holder count. Known tells that there is
// a record of it.
type Tries struct {
	Known                         bool
	Started, Unstarted            int // lost leases
	Interruptions, Limit, Forgone int
}

// Step is one step: a state machine without time, dice or storage of its own.
// Its methods are the operations of the protocol.
type Step struct {
	State State
	Lane  int8 // 0 high, 1 default, 2 low
	// Due is when a waiting step becomes ready, ms.
	Due int64
	// Lease is that of the running step, or the one that was left behind.
	Lease Lease
	Left  Left
	Tries Tries
}

// StartLimit is the latest due time: the year 2150.
const StartLimit = 5680281600000

// Enqueue makes an absent step wait for its time or ready.
func (s *Step) Enqueue(now, due int64, lane int8) {
	s.Lane = lane
	s.place(Scheduled, now, due)
}

func (s *Step) place(state State, now, due int64) {
	if due <= now {
		s.State, s.Due = Ready, 0
		return
	}
	s.State, s.Due = state, min(due, StartLimit)
}

// Listed tells that the step has an entry in a ready list.
func (s *Step) Listed() bool { return s.Left == InReady || s.State == Ready && s.Left == Nothing }

// Held tells that the step has an entry among the leases.
func (s *Step) Held() bool { return s.Left == InLease || s.State == Running }

// Ghost is the mark that makes an entry void (x) or turns it into a ready step
// (r); "" when what is stored is what is meant.
func (s *Step) Ghost() string {
	switch {
	case s.Left == Nothing:
		return ""
	case s.State == Ready:
		return "r"
	}
	return "x"
}

// Promote makes a step ready whose time has come.
func (s *Step) Promote(now int64) bool {
	if !s.State.Waiting() || s.Due > now {
		return false
	}
	s.State, s.Due = Ready, 0
	return true
}

// Take is what happens to a listed step that a claim takes: it runs, unless all
// that was listed is left from a former life.
func (s *Step) Take(lease Lease) bool {
	s.Left = Nothing
	if s.State != Ready {
		return false
	}
	s.State, s.Lease = Running, lease
	return true
}

// Outcome is what a settlement or a renewal came to.
type Outcome uint8

// The outcomes: it counted; the lease is not held any more; the step was
// cancelled or deleted meanwhile.
const (
	Applied Outcome = iota
	Lost
	Dropped
)

// Op is a settlement.
type Op byte

// The settlements.
const (
	Complete Op = 'c' // keep nothing
	Keep     Op = 'k' // complete and keep the result
	Retry    Op = 'r'
	Snooze   Op = 's'
	Discard  Op = 'd'
	GiveBack Op = 'g' // it never started
	Release  Op = 'i' // interrupted
	PutBack  Op = 'w' // later, uncounted
)

// Settle ends a claim, if the token still holds it.
func (s *Step) Settle(op Op, token int, now, delay int64) Outcome {
	if !s.Held() || s.Lease.Token != token {
		return Lost
	}
	if s.Left == InLease {
		s.dispose()
		return Dropped
	}
	s.Lease = Lease{}
	switch op {
	case Complete:
		*s = Step{}
	case Keep:
		s.State = Completed
	case Discard:
		s.State = Discarded
	case Retry:
		s.wait(Retrying, now+delay)
	case Snooze:
		s.wait(Snoozed, now+delay)
	case PutBack:
		s.wait(Scheduled, now+delay)
	case Release:
		s.Tries.Known = true
		s.Tries.Interruptions++
		s.State = Ready
	case GiveBack:
		s.State = Ready
	}
	return Applied
}

// wait is without a look at the time: what is due already is promoted in the
// same turn.
func (s *Step) wait(state State, due int64) { s.State, s.Due = state, min(due, StartLimit) }

// dispose ends what was left among the leases. A step that was opened again
// meanwhile is listed from now on.
func (s *Step) dispose() { s.Lease, s.Left = Lease{}, Nothing }

// Renew extends the lease. What has started stays so.
func (s *Step) Renew(token int, until int64, started bool) Outcome {
	if !s.Held() || s.Lease.Token != token {
		return Lost
	}
	s.Lease.Until = until
	s.Lease.Started = s.Lease.Started || started
	if s.Left == InLease {
		return Dropped
	}
	return Applied
}

// Reap takes back a lease that has ended. It tells whether an attempt was lost.
// From the second loss on the step waits, 2^n seconds.
func (s *Step) Reap(now int64) (reaped, lost bool) {
	if !s.Held() || s.Lease.Until > now {
		return false, false
	}
	if s.Left == InLease {
		s.dispose()
		return true, false
	}
	s.Tries.Known = true
	if s.Lease.Started {
		s.Tries.Started++
	} else {
		s.Tries.Unstarted++
	}
	s.Lease, s.State = Lease{}, Ready
	if losses := s.Tries.Started + s.Tries.Unstarted - s.Tries.Forgone; losses >= 2 {
		s.State, s.Due = Retrying, now+1000<<min(losses, 12)
	}
	return true, true
}

// Clamp ends a lease that goes on for longer than until.
func (s *Step) Clamp(until int64) bool {
	if !s.Held() || s.Lease.Until <= until {
		return false
	}
	s.Lease.Until = until
	return true
}

// Cancel ends the step for good unless it has ended.
func (s *Step) Cancel() bool {
	if s.State == Absent || s.State.Ended() {
		return false
	}
	s.leave()
	s.State, s.Due = Cancelled, 0
	return true
}

// Delete removes the step.
func (s *Step) Delete() bool {
	if s.State == Absent {
		return false
	}
	s.leave()
	s.forget()
	return true
}

// leave notes which entry cannot be found now.
func (s *Step) leave() {
	switch {
	case s.Left != Nothing:
	case s.State == Ready:
		s.Left = InReady
	case s.State == Running:
		s.Left = InLease
	}
}

// forget removes all of the step but what is left behind.
func (s *Step) forget() { *s = Step{Lane: s.Lane, Left: s.Left, Lease: s.Lease} }

// Revive opens a discarded or cancelled step again; limit is its new attempt
// limit, 0 to leave it.
func (s *Step) Revive(limit int) bool {
	if s.State != Discarded && s.State != Cancelled {
		return false
	}
	s.State = Ready
	s.Tries.Known = true
	s.Tries.Forgone = s.Tries.Started + s.Tries.Unstarted
	if limit > 0 {
		s.Tries.Limit = limit
	}
	return true
}

// Reschedule gives a waiting step another time; due 0 is now.
func (s *Step) Reschedule(due int64) bool {
	if !s.State.Waiting() {
		return false
	}
	if due == 0 {
		s.State, s.Due = Ready, 0
		return true
	}
	s.Due = min(due, StartLimit)
	return true
}

// Remove is what trimming does to a finished step, and purging to any that it
// finds.
func (s *Step) Remove() { s.forget() }
