package queue

import (
	"crypto/rand"
	"iter"
	"slices"
	"sync"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// turn is one call of the turn script and what is needed to read its reply. Its
// memory is used again: a busy worker makes thousands a second.
type turn struct {
	p       *partition
	req     *TurnRequest
	input   luascripts.TurnInput
	call    luascripts.Call
	detail  detail
	groupOf []int // by settlement
}

var turns = sync.Pool{New: func() any { return new(turn) }}

// release gives the turn's memory back. Nothing of its reply is in it.
func (t *turn) release() {
	t.reset()
	turns.Put(t)
}

// reset drops what the turn refers to, and keeps the memory.
func (t *turn) reset() {
	t.p, t.req = nil, nil
	groups := t.input.Groups
	for g := range groups {
		empty(&groups[g])
	}
	clear(t.input.Queues)
	t.input = luascripts.TurnInput{Queues: t.input.Queues[:0], Claims: t.input.Claims[:0], Groups: groups[:0]}
	t.detail.reset()
	t.call.Reset()
}

// newToken returns a fencing token: the worker's id and 80 random bits. A counter
// alone could repeat after a failover that lost writes.
func newToken(worker string) string { return worker + "." + rand.Text()[:16] }

// build makes the call.
func (t *turn) build(p *partition, worker string, req *TurnRequest) {
	t.reset()
	t.p, t.req = p, req
	in := &t.input
	in.Worker, in.Token = worker, newToken(worker)
	in.LeaseMS, in.Wanted = req.Lease.Milliseconds(), req.Wanted
	in.WaitMS = req.Wait.Milliseconds()
	in.Offer = req.Offer
	if req.Got != nil {
		in.Got = req.Got.member
	}
	in.Channels, in.Partition = p.channels(), p.number
	for _, room := range req.Queues {
		in.Queues[t.queue(room.Queue)].Room = room.N
	}
	for _, quota := range req.Claim {
		in.Claims = append(in.Claims, luascripts.TurnClaim{Queue: t.queue(quota.Queue), Lane: int(quota.Priority), Count: quota.N})
	}
	t.group()
	in.Budget = sideBudget
	in.Detail = t.detail.bytes()
	k := p.keys
	luascripts.TurnCall(&t.call, &luascripts.TurnKeys{
		Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
		Results: k.results(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Paused: k.paused(), Sweep: k.sweep(),
		Offers: k.offers(), Handed: k.handed(),
	}, in)
}

func (t *turn) queue(name string) int { return queueAmong(&t.input.Queues, t.p, name) }

// queueAmong returns the position of a queue among those of a call, where it is put
// first if it is new.
func queueAmong(queues *[]luascripts.TurnQueue, p *partition, name string) int {
	for i := range *queues {
		if (*queues)[i].Name == name {
			return i
		}
	}
	k := p.keys.queue(name)
	*queues = append(*queues, luascripts.TurnQueue{
		Name: name, Leased: k.leased, Scheduled: k.scheduled, Retrying: k.retrying, Snoozed: k.snoozed, Waiting: k.waiting,
		Completed: k.completed, Discarded: k.discarded, Cancelled: k.cancelled, Waiters: k.waiters, Ready: k.ready,
	})
	return len(*queues) - 1
}

// group sorts the settlements by queue and operation, so that a script needs few
// commands. Details follow the order of the groups.
func (t *turn) group() {
	settle := t.req.Settle
	t.groupOf = slices.Grow(t.groupOf[:0], len(settle))[:len(settle)]
	// Backwards: what is given back goes to the head of its queue one by one, and
	// the first claimed must stand first again.
	for i := len(settle) - 1; i >= 0; i-- {
		t.groupOf[i] = t.groupFor(t.queue(settle[i].Claim.Queue), settle[i].op)
	}
	for g := range t.input.Groups {
		t.fill(g)
	}
}

// groupFor returns the position of a group, which is made if it is new.
func (t *turn) groupFor(queue int, op luascripts.Op) int {
	groups := t.input.Groups
	for g := range groups {
		if groups[g].Queue == queue && groups[g].Op == op {
			return g
		}
	}
	g := len(groups)
	t.input.Groups = slices.Grow(groups, 1)[:g+1]
	group := &t.input.Groups[g]
	group.Queue, group.Op = queue, op
	return g
}

// empty drops what a group holds and keeps its memory.
func empty(g *luascripts.TurnGroup) {
	clear(g.Members)
	clear(g.IDs)
	clear(g.Extra)
	g.Members, g.IDs, g.Extra = g.Members[:0], g.IDs[:0], g.Extra[:0]
}

// fill puts the settlements of a group into it.
func (t *turn) fill(g int) {
	group := &t.input.Groups[g]
	for st := range t.settlements(g) {
		group.Members = append(group.Members, st.Claim.member)
		group.IDs = append(group.IDs, st.Claim.id())
		kind, node := st.Claim.names()
		t.detail.add(kind, node, st.Attempt, st.rest.code, st.rest.text)
	}
	if group.Op == luascripts.OpComplete {
		return
	}
	n := 0
	for st := range t.settlements(g) {
		group.Extra = t.extra(group.Extra, st, &group.IDs[n])
		n++
	}
	if group.Op != luascripts.OpKeep {
		return
	}
	n = 0
	for st := range t.settlements(g) { // the results go behind the times
		group.Extra = append(group.Extra, &group.IDs[n], st.rest.result)
		n++
	}
}

// settlements are those of a group, the last first.
func (t *turn) settlements(g int) iter.Seq[*Settlement] {
	return func(yield func(*Settlement) bool) {
		for i := len(t.groupOf) - 1; i >= 0; i-- {
			if t.groupOf[i] == g && !yield(&t.req.Settle[i]) {
				return
			}
		}
	}
}

// extra appends the arguments that the operation takes for one step.
func (t *turn) extra(args []any, st *Settlement, id *string) []any {
	switch st.op {
	case luascripts.OpKeep:
		return append(args, t.p.client.clock.nowMS()+milliseconds(st.rest.keep), id)
	case luascripts.OpRetry, luascripts.OpSnooze:
		return append(args, milliseconds(st.rest.delay), int(st.Claim.Priority)+1, st.rest.body)
	case luascripts.OpDiscard:
		return append(args, st.rest.body)
	case luascripts.OpGiveBack, luascripts.OpRelease:
		return append(args, int(st.Claim.Priority)+1)
	case luascripts.OpPutBack:
		return append(args, milliseconds(st.rest.delay), int(st.Claim.Priority)+1)
	}
	return args
}
