package queue

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
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
	// Offer lets one step be handed over while the worker stands in line. Such a turn
	// takes all of the worker's queues.
	Offer bool
	// Got is what was handed over last and has arrived, nil for nothing. It goes with
	// every turn until one has succeeded.
	Got *Claimed
}

// TurnReply is what a turn brought.
type TurnReply struct {
	// Claimed holds the new leases, which end LeaseUntil at the earliest.
	Claimed    []Claimed
	LeaseUntil time.Time
	// Handed is a step that was handed over by an earlier offer and has not arrived,
	// nil for none. Its lease ends HandedUntil at the earliest.
	Handed      *Claimed
	HandedUntil time.Time
	// Offer is what the turn offers from now on.
	Offer Offer
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
	var sent time.Time
	reply, err := p.numbered(ctx, luascripts.Turn, &t.call, 0, func() {
		t.build(p, s.worker, req)
		sent = time.Now()
	})
	if err != nil {
		return nil, err
	}
	out := t.read(ctx, reply, sent)
	out.Trouble = s.gather(ctx, p, out)
	return out, nil
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
		pipe.HDel(ctx, p.keys.offers(), s.worker)
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
