package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// Store is the claim and settlement protocol for one worker. Package worker
// drives it; programs use [Client]. Its methods are safe for concurrent use.
type Store struct {
	client *Client
	worker string
	rounds atomic.Int64 // of maintenance
}

// NewStore returns the protocol for a worker with the given short id, which
// tokens begin with.
func NewStore(c *Client, worker string) *Store { return &Store{client: c, worker: worker} }

// Claimed is a step that this worker holds under a lease.
type Claimed struct {
	ID cyclone.RunID
	// Step is the step's own id: of a run of many steps several are claimed.
	Step     StepID
	Queue    string
	Priority cyclone.Priority
	// Envelope is what is stored; nil when Err says why it cannot be read.
	Envelope *Envelope
	Err      error
	Counters *Counters // never nil, and not to be written to

	partition int
	member    string // id:token
	digits    int    // of the id
	inputs    *inputs
}

// id is the run's id as scripts know it.
func (c *Claimed) id() string { return c.member[:c.digits] }

// names returns kind and node, as far as they can be read.
func (c *Claimed) names() (kind, node string) {
	if c.Envelope == nil {
		return "", ""
	}
	return c.Envelope.Kind, c.Envelope.Node
}

// Counters are what others than the lease's holder count for a step.
type Counters struct {
	LostStarted, LostUnstarted, Interruptions int
	// Limit is the attempt limit that an operator's retry has set, 0 for none.
	Limit int
	// Forgiven is the number of lost leases that an operator's retry has forgiven.
	Forgiven int
}

// noCounters are those of nearly all steps.
var noCounters Counters

func countersOf(text string) *Counters {
	if text == "" {
		return &noCounters
	}
	k := parseCounters(text)
	return &k
}

// parseCounters reads what lib/tries.lua writes.
func parseCounters(text string) (k Counters) {
	fields := [...]*int{&k.LostStarted, &k.LostUnstarted, &k.Interruptions, &k.Limit, &k.Forgiven}
	for i, word := range strings.Fields(text) {
		if i < len(fields) {
			*fields[i], _ = strconv.Atoi(word)
		}
	}
	return k
}

// Quota asks for up to N steps of one queue and priority.
type Quota struct {
	Queue    string
	Priority cyclone.Priority
	N        int
}

// Room tells how many steps of a queue a worker can take.
type Room struct {
	Queue string
	N     int
}

// TurnRequest is one loop turn of a worker on one partition.
type TurnRequest struct {
	Partition int
	Settle    []Settlement
	// Queues are promoted, reaped and, as far as they have room, stood in line
	// for. Claim is served in order until Wanted steps are claimed in all or its
	// queues have no room left.
	Queues []Room
	Claim  []Quota
	Wanted int
	Lease  time.Duration
	// Wait is the life of a new registration among the waiters when the claim falls
	// short, 0 for none. Every turn first takes its worker out of all lines.
	Wait time.Duration
}

// TurnReply is what a turn brought.
type TurnReply struct {
	// Claimed holds the new leases, which end LeaseUntil at the earliest.
	Claimed    []Claimed
	LeaseUntil time.Time
	// Lost tells, by index into Settle, which settlements did not count, and why:
	// [cyclone.ErrLeaseLost] or [cyclone.ErrCancelled].
	Lost map[int]error
	// Next is when the next step becomes due or a lease expires, negative for
	// never. Rank is the number of workers in line before this one.
	Next time.Duration
	Rank int
	// More tells that there may be more to claim at once.
	More bool
	// Trouble tells why some of Claimed are unread, see [Claimed.Unread].
	Trouble error
	// Sweep tells that work on runs of many steps is due.
	Sweep bool
	// Now is Redis' time.
	Now time.Time
}

// TurnBudget is the most ids that one turn may settle and claim together.
const TurnBudget = 300

// sideBudget is what reaping and promotion may take beside them, so that no
// script handles more than 500 ids.
const sideBudget = 200

// ErrSettleUnknown is returned by Turn when it gave up without an answer:
// settlements and claims may have been applied. Leases that were given expire.
var ErrSettleUnknown = cyclone.ErrUnknownOutcome

// Turn settles, takes back expired leases, promotes and claims, in one script
// call. It is sent again until it is answered or ctx is done; a settlement
// counts once whatever happens to replies.
func (s *Store) Turn(ctx context.Context, req *TurnRequest) (*TurnReply, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return nil, err
	}
	p := d.parts[req.Partition]
	t := turns.Get().(*turn)
	defer t.release()
	for {
		l := p.calls.take()
		t.build(p, s.worker, req)
		sent := time.Now()
		reply, err := p.session(ctx, l, luascripts.Turn, &t.call, &tries{})
		p.calls.put(l)
		if errors.Is(err, errLaneVoid) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out := t.read(reply, sent)
		out.Trouble = s.gather(ctx, p, out)
		return out, nil
	}
}

// Leave takes the worker out of all lines and lists.
func (s *Store) Leave(ctx context.Context, queues []string) error {
	d, err := s.client.join(ctx)
	if err != nil {
		return err
	}
	pipe := s.client.rdb.Pipeline()
	for _, p := range d.parts {
		for _, q := range queues {
			pipe.ZRem(ctx, p.keys.queue(q).waiters, s.worker)
		}
	}
	pipe.HDel(ctx, d.parts[0].keys.workers(), s.worker)
	_, err = pipe.Exec(ctx)
	return err
}

// Partitions returns the number of partitions of the deployment.
func (s *Store) Partitions(ctx context.Context) (int, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return 0, err
	}
	return len(d.parts), nil
}

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
	in.Channels, in.Partition = p.channels(), p.number
	for _, room := range req.Queues {
		in.Queues[t.queue(room.Queue)].Room = room.N
	}
	for _, quota := range req.Claim {
		in.Claims = append(in.Claims, luascripts.TurnClaim{Queue: t.queue(quota.Queue), Lane: int(quota.Priority), Count: quota.N})
	}
	t.group()
	in.MaxReap = max(sideBudget/5/len(in.Queues), 1)
	in.MaxPromote = max(sideBudget/5/len(in.Queues), 1)
	in.Detail = t.detail.bytes()
	k := p.keys
	luascripts.TurnCall(&t.call, &luascripts.TurnKeys{
		Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
		Results: k.results(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Paused: k.paused(), Sweep: k.sweep(),
	}, in)
}

// queue returns the position of a queue among the turn's, where it is put first
// if it is new.
func (t *turn) queue(name string) int {
	for i := range t.input.Queues {
		if t.input.Queues[i].Name == name {
			return i
		}
	}
	k := t.p.keys.queue(name)
	t.input.Queues = append(t.input.Queues, luascripts.TurnQueue{
		Name: name, Leased: k.leased, Scheduled: k.scheduled, Retrying: k.retrying, Snoozed: k.snoozed, Waiting: k.waiting,
		Completed: k.completed, Discarded: k.discarded, Cancelled: k.cancelled, Waiters: k.waiters, Ready: k.ready,
	})
	return len(t.input.Queues) - 1
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

// read makes the reply, which holds nothing of the turn's memory.
func (t *turn) read(reply []any, sent time.Time) *TurnReply {
	raw := luascripts.ParseTurn(reply)
	out := &TurnReply{
		LeaseUntil: sent.Add(t.req.Lease), Rank: raw.Rank, More: raw.More, Sweep: raw.Sweep,
		Next: time.Duration(raw.NextMS) * time.Millisecond, Now: timeOf(raw.NowMS),
	}
	if len(raw.Lost) > 0 {
		out.Lost = make(map[int]error, len(raw.Lost))
		for i := range t.req.Settle {
			if reason, ok := raw.Lost[t.req.Settle[i].Claim.member]; ok {
				out.Lost[i] = causeOf(reason)
			}
		}
	}
	t.readClaims(&raw, out)
	if len(t.p.client.onEvent) > 0 {
		t.tell(out)
	}
	return out
}

func (t *turn) readClaims(raw *luascripts.TurnReply, out *TurnReply) {
	n, length := 0, 0
	for _, claim := range raw.Claims {
		n += len(claim.IDs)
		for _, id := range claim.IDs {
			length += len(id) + len(":") + len(t.input.Token)
		}
	}
	out.Claimed = make([]Claimed, 0, n)
	envelopes := make([]Envelope, n)
	var members strings.Builder // all in one: they live about as long
	members.Grow(length)
	for _, claim := range raw.Claims {
		for i, id := range claim.IDs {
			if claim.Bodies[i] == "" {
				continue // it was deleted before this answer was asked for again
			}
			start := members.Len()
			members.WriteString(id)
			members.WriteByte(':')
			members.WriteString(t.input.Token)
			step, _ := parseStepID(id)
			out.Claimed = append(out.Claimed, Claimed{
				ID: step.Run, Step: step, Queue: t.input.Queues[claim.Queue].Name, Priority: cyclone.Priority(claim.Lane),
				Counters: countersOf(raw.Counters[id]), partition: t.p.number, member: members.String()[start:], digits: len(id),
			})
			k := len(out.Claimed) - 1
			out.Claimed[k].decode(claim.Bodies[i], &envelopes[k])
		}
	}
}

// decode reads the claim's body into env.
func (c *Claimed) decode(body string, env *Envelope) {
	if c.Err = env.Decode(bytesOf(body)); c.Err == nil {
		c.Envelope = env
	}
}

// bytesOf returns the bytes of a string that nobody else holds, without copying a
// body that may be large.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func causeOf(reason string) error {
	if reason == luascripts.ReasonCancelled {
		return cyclone.ErrCancelled
	}
	return cyclone.ErrLeaseLost
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

// tell passes the turn's events to the process's own listeners.
func (t *turn) tell(out *TurnReply) {
	for i := range t.req.Settle {
		if _, lost := out.Lost[i]; !lost {
			t.p.client.emit(t.req.Settle[i].event(out.Now))
		}
	}
	for i := range out.Claimed {
		c := &out.Claimed[i]
		kind, node := c.names()
		attempt := 1
		if c.Envelope != nil {
			attempt = c.Envelope.Failures + 1
		}
		t.p.client.emit(cyclone.StepEvent{
			Type: cyclone.EventClaimed, RunID: c.ID, Node: node, Kind: kind, Queue: c.Queue,
			State: cyclone.StepRunning, Attempt: attempt, At: out.Now, Worker: workerOf(t.input.Token),
		})
	}
}

// workerOf returns the worker that a token names.
func workerOf(token string) string {
	worker, _, _ := strings.Cut(token, ".")
	return worker
}

// Options returns what the enqueue fixed, for the rule of a definition.
func (e *Envelope) Options() wire.Options {
	return wire.Options{
		Set: e.Set, MaxAttempts: e.MaxAttempts, Delays: e.Delays,
		Timeout: time.Duration(e.TimeoutMs) * time.Millisecond, Retention: time.Duration(e.RetentionMs) * time.Millisecond,
	}
}
