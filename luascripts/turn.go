package luascripts

import (
	"slices"
	"strings"
)

// Turn is the script of a worker's loop turn.
var Turn = load("turn")

// TurnKeys are the fixed keys of Turn.
type TurnKeys struct {
	Steps, Sess, Ghosts, Tries, Uniq, UniqOf, Results, History, Stats, Subs, Paused, Sweep, Offers, Handed string
}

// TurnQueue is one queue that a turn settles in or claims from.
type TurnQueue struct {
	Room                                          int // steps to claim at the most; 0: do not stand in line for it
	Name                                          string
	Leased, Scheduled, Retrying, Snoozed, Waiting string
	Completed, Discarded, Cancelled, Waiters      string
	Ready                                         [3]string
}

// Op is what a settlement does with a step.
type Op string

// The operations of a settlement.
const (
	OpComplete Op = "c" // keep nothing
	OpKeep     Op = "k" // complete, keep the result for a time
	OpRetry    Op = "r"
	OpSnooze   Op = "s"
	OpDiscard  Op = "d"
	OpGiveBack Op = "g" // never started
	OpRelease  Op = "i" // interrupted
	OpPutBack  Op = "w" // later, uncounted
)

// TurnClaim asks for up to Count steps of one queue and lane.
type TurnClaim struct{ Queue, Lane, Count int }

// TurnGroup settles steps of one queue in one way. Extra holds the arguments
// that the operation takes behind the ids, step by step.
type TurnGroup struct {
	Queue   int
	Op      Op
	Members []string // id:token
	IDs     []string
	Extra   []any
}

// TurnInput is what a call of Turn carries.
type TurnInput struct {
	Session       Session
	Worker, Token string
	LeaseMS       int64
	WaitMS        int64
	Wanted        int // steps to claim in all
	Budget        int // of ids to take back and to promote
	Channels      Channels
	Partition     int
	Detail        []byte
	Offer         bool   // a step may be handed over while the worker stands in line
	Got           string // id:token of one that was and has arrived, or ""
	Queues        []TurnQueue
	Claims        []TurnClaim
	Groups        []TurnGroup
}

// TurnCall fills c. Strings are passed by reference and must stay as they are
// until the call has returned.
func TurnCall(c *Call, k *TurnKeys, in *TurnInput) {
	size := 17 + 2*len(in.Queues) + 3*len(in.Claims)
	for g := range in.Groups {
		size += 3 + 3*len(in.Groups[g].IDs) + len(in.Groups[g].Extra)
	}
	c.Args = slices.Grow(c.Args, size)
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Tries, k.Uniq, k.UniqOf, k.Results, k.History, k.Stats, k.Subs, k.Paused, k.Sweep, k.Offers, k.Handed)
	for i := range in.Queues {
		q := &in.Queues[i]
		c.Keys = append(c.Keys, q.Leased, q.Scheduled, q.Retrying, q.Snoozed, q.Waiting, q.Completed, q.Discarded, q.Cancelled,
			q.Waiters, q.Ready[0], q.Ready[1], q.Ready[2])
	}
	c.arg(in.Session.Lane, in.Session.Seq, in.Worker, in.Token, in.LeaseMS, in.WaitMS, in.Wanted,
		in.Budget, in.Channels.Wake, in.Channels.Events, in.Partition, in.Detail, in.Offer, in.Got,
		len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
	for i := range in.Queues {
		c.arg(in.Queues[i].Room)
	}
	c.arg(len(in.Claims))
	for _, cl := range in.Claims {
		c.arg(cl.Queue+1, cl.Lane+1, cl.Count)
	}
	c.arg(len(in.Groups))
	for g := range in.Groups {
		group := &in.Groups[g]
		c.arg(group.Queue+1, string(group.Op), len(group.Members))
		for i := range group.Members {
			c.arg("0", &group.Members[i])
		}
		for i := range group.IDs {
			c.arg(&group.IDs[i])
		}
		c.Args = append(c.Args, group.Extra...)
	}
}

// Reasons for which a settlement or a renewal did not count.
const (
	ReasonLost      = "lost"
	ReasonCancelled = "cancelled"
)

// Claimed is a number of steps of one queue and lane that a turn has leased.
type Claimed struct {
	Queue, Lane int // indexes from 0
	IDs         []string
	Bodies      []string // empty for one that is gone by now
}

// TurnReply is the answer of a call whose status is OK.
type TurnReply struct {
	NowMS    int64
	Lost     map[string]string // id:token → reason
	Claims   []Claimed
	Counters map[string]string // id → tries
	NextMS   int64             // until the next due step, expiring lease or work of the sweep, -1 for none
	Rank     int               // waiters that registered before
	More     bool              // there may be more to claim at once
	Watched  bool              // somebody subscribes to events
	Sweep    bool              // the sweep has work that is due
	Handed   *HandedOver       // what was handed over and has not arrived, nil for nothing
	Reaped   string            // events of the leases that were taken back, as lines
}

// HandedOver is a step that was leased to a worker which had offered a slot.
type HandedOver struct {
	Queue, Lane     int // indexes from 0
	ID, Token, Body string
	ExpiryMS        int64 // of its lease
}

// ParseTurn reads a reply.
func ParseTurn(reply []any) TurnReply {
	out := TurnReply{
		NowMS: Now(reply), Lost: pairs(list(reply, 2)), Counters: pairs(list(reply, 4)),
		NextMS: integer(reply, 5), Rank: int(integer(reply, 6)), More: integer(reply, 7) == 1, Watched: integer(reply, 8) == 1,
		Sweep: integer(reply, 9) == 1, Reaped: text(reply, 11),
	}
	for _, raw := range list(reply, 3) {
		claim, _ := raw.([]any)
		out.Claims = append(out.Claims, Claimed{
			Queue: int(integer(claim, 0)) - 1, Lane: int(integer(claim, 1)) - 1,
			IDs: strings.Split(text(claim, 2), " "), Bodies: texts(list(claim, 3)),
		})
	}
	if h := list(reply, 10); len(h) > 0 {
		out.Handed = &HandedOver{
			Queue: int(integer(h, 0)) - 1, Lane: int(integer(h, 1)) - 1, ID: text(h, 2), Token: text(h, 3), ExpiryMS: integer(h, 4), Body: text(h, 5),
		}
	}
	return out
}

// pairs reads a flat list of names and values; nil for an empty one.
func pairs(flat []any) map[string]string {
	if len(flat) == 0 {
		return nil
	}
	out := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		out[text(flat, i)] = text(flat, i+1)
	}
	return out
}
