package model

import (
	"errors"
	"fmt"
	"math/bits"
)

// Protocol is the world that [Protocol.Search] visits completely: two steps, two
// workers and an operator, each with a session lane, and a network that loses
// replies, repeats requests and delivers them late. Leases end and steps become
// due at any time, so the world needs no clock; a handler returns when its worker
// says so, and any lease may be renewed by a late renewal.
type Protocol struct {
	// Claims is how many tokens there are in all, at most 7; Commands how often
	// the operator cancels, deletes or retries; Crashes how often a worker is lost
	// and starts again.
	Claims, Commands, Crashes int
	// MaxAttempts and MaxLost are the limits of both steps.
	MaxAttempts, MaxLost uint8
	// Without leaves out one guard of the scripts, to see that it is needed.
	Without Guard
	Bounds  Bounds
}

// Guard is one of the lines that hold the protocol together.
type Guard uint8

// The guards.
const (
	NoGuard       Guard = iota
	FenceGuard          // a settlement must hold the lease
	StaleGuard          // a request with a lower number than the last is refused
	ReplayGuard         // a request with the last number gets the stored answer
	HeldGuard           // a stored answer tells only of claims that are still held
	GhostOfReady        // a claim looks at ghosts
	GhostOfLease        // a settlement looks at ghosts
	GhostOfReaped       // a reap looks at ghosts
	ReviveFlips         // a retry turns a ghost instead of listing the step again
	EndedGuard          // cancelling what has ended changes nothing
	guards
)

var guardNames = [...]string{
	"none", "fence", "stale number", "replay", "replay tells what is held", "ghosts of ready steps", "ghosts of leases",
	"ghosts of ended leases", "retry turns a ghost", "cancel spares what has ended",
}

func (g Guard) String() string { return guardNames[g] }

// Guards returns every guard that can be left out.
func Guards() []Guard {
	var all []Guard
	for g := NoGuard + 1; g < guards; g++ {
		all = append(all, g)
	}
	return all
}

const (
	steps = 2
	procs = 2
)

// record is what the keys hold of one step, entry by entry, so that a fault may
// show as one too many or too few.
type record struct {
	body                                      bool
	ready                                     uint8 // entries in the ready list
	leased                                    uint8 // set of tokens
	retrying, completed, discarded, cancelled bool
	ghost                                     byte // 0, 'x' or 'r'
	failures, lost                            uint8
	settled                                   uint8 // times that an attempt ended the step since it was last opened
}

// request is one call of a session. What a request will carry is chosen when it
// is first delivered: until then nobody can tell.
type request struct {
	kind    byte // 0 none, 't' a turn, 'x' cancel, 'd' delete, 'r' retry
	op      [steps]Op
	token   [steps]uint8 // of the settlements
	claim   uint8        // token, 0 to claim nothing
	subject uint8        // step of a command
}

// proc is a worker.
type proc struct {
	held [steps]uint8 // tokens of running handlers
	// The reply to the newest turn has not come yet: what the turn has settled and
	// claimed, as sets of steps, and its token.
	waiting                 bool
	settled, claimed, claim uint8
	newest, older           request // kept while a guard is left out
	// A life before a crash, or a lane that was given up, may have one turn on its
	// way that has not arrived.
	late       bool
	formerHeld [steps]uint8
}

type world struct {
	records [steps]record
	procs   [procs]proc
	newest  request // of the operator, kept while a guard is left out
	older   request
	tokens  uint8
	orders  uint8
	crashes uint8
	wrong   fault
}

type fault uint8

const (
	right fault = iota
	startedEnded
	startedLost
	endedTwice
	repeated
	diverged
)

var faultText = [...]string{
	startedEnded: "a handler starts for a step that had ended when its worker was told of the claim",
	startedLost:  "a handler starts under a lease that was not held when its worker was told of the claim",
	endedTwice:   "a second settlement has ended a step that was not opened again",
	repeated:     "a request that had been applied has changed something again",
	diverged:     "an operation did to the keys what it does not do to a step",
}

// Search visits every state of the world.
func (p Protocol) Search() Report {
	start := world{}
	for i := range start.records {
		start.records[i] = record{body: true, ready: 1}
	}
	return Explore(start, p.next, p.check, p.Bounds)
}

// next lists what may happen.
func (p Protocol) next(w world, visit func(Action, world)) {
	if w.wrong != right {
		return
	}
	canonical := func(action Action, to world) { visit(action, to.canonical()) }
	for i := range procs {
		p.work(w, i, canonical)
	}
	p.operate(w, canonical)
}

// canonical puts the workers in an order: which is called the first makes no
// difference.
func (w world) canonical() world {
	a, b := &w.procs[0], &w.procs[1]
	if b.rank() > a.rank() {
		*a, *b = *b, *a
	}
	return w
}

func (q *proc) rank() (n uint64) {
	for _, v := range [...]uint8{q.held[0], q.held[1], q.claim, q.claimed, q.settled, q.formerHeld[0], q.formerHeld[1]} {
		n = n<<3 | uint64(v)
	}
	return n
}

// check is what must hold in every state.
func (p Protocol) check(w world) error {
	if w.wrong != right {
		return errors.New(faultText[w.wrong])
	}
	for s := range steps {
		if err := p.checkRecord(&w.records[s]); err != nil {
			return fmt.Errorf("step %d: %w", s, err)
		}
	}
	return nil
}

func (p Protocol) checkRecord(r *record) error {
	owners := bits.OnesCount8(r.leased)
	entries := int(r.ready) + owners
	indexes := 0
	for _, in := range [...]bool{r.retrying, r.completed, r.discarded, r.cancelled} {
		if in {
			indexes++
		}
	}
	switch {
	case owners > 1:
		return errors.New("two owners")
	case r.failures > p.MaxAttempts:
		return fmt.Errorf("%d counted attempts of %d", r.failures, p.MaxAttempts)
	case !r.body && indexes > 0:
		return errors.New("an index names a step without a body")
	case r.ghost == 0 && r.body && entries+indexes != 1:
		return fmt.Errorf("the step is in %d indexes", entries+indexes)
	case r.ghost == 0 && !r.body && entries > 0:
		return errors.New("an entry without body or ghost")
	case r.ghost != 0 && entries != 1:
		return fmt.Errorf("a ghost of %d entries", entries)
	case r.ghost == 'x' && r.body && !r.cancelled:
		return errors.New("a dropped step that has not ended")
	case r.ghost == 'r' && (indexes > 0 || !r.body):
		return errors.New("an opened step that is elsewhere as well")
	}
	return nil
}

// logical is the step that a record stands for.
func (r *record) logical() Step {
	s := Step{Tries: Tries{Unstarted: int(r.lost)}}
	switch {
	case r.ghost == 'r':
		s.State = Ready
	case r.retrying:
		s.State = Retrying
	case r.completed:
		s.State = Completed
	case r.discarded:
		s.State = Discarded
	case r.cancelled:
		s.State = Cancelled
	case r.leased != 0 && r.ghost == 0:
		s.State = Running
	case r.ready > 0 && r.ghost == 0:
		s.State = Ready
	}
	if r.leased != 0 {
		s.Lease.Token = bits.Len8(r.leased) - 1
	}
	if r.ghost != 0 {
		s.Left = InReady
		if r.leased != 0 {
			s.Left = InLease
		}
	}
	return s
}
