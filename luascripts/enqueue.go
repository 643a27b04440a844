package luascripts

// Enqueue is the script that stores new steps.
var Enqueue = load("enqueue")

// EnqueueKeys are the fixed keys of Enqueue.
type EnqueueKeys struct {
	Steps, Sess, Uniq, UniqOf, UniqX, IDs, Subs, Stats, Paused, Offers, Handed string
}

// EnqueueQueue is one queue that a call puts steps into.
type EnqueueQueue struct {
	Name                       string
	Leased, Scheduled, Waiters string
	Ready                      [3]string
}

// EnqueueGroup is a number of steps of one queue and lane that are ready now
// and hold no unique key.
type EnqueueGroup struct {
	Queue, Lane int // indexes from 0
	IDs, Bodies []string
}

// ConflictRequest is the rule for the key of a request: existing, and the key is there
// until its time, whatever becomes of its holder.
const ConflictRequest = 3

// EnqueueItem is any other step.
type EnqueueItem struct {
	Queue, Lane int // indexes from 0
	ID          string
	Due         string // "" now, "+ms" from now, or ms since 1970
	Body        string
	Digest      string // of its unique key, "" for none
	Conflict    int    // 0 existing, 1 reject, 2 replace, or ConflictRequest
	ScopeMS     int64  // 0: while unfinished
}

// EnqueueInput is what a call of Enqueue carries.
type EnqueueInput struct {
	Session   Session
	Block     int64 // ids wanted for later calls
	MaxBytes  int
	Channels  Channels
	Partition int
	Detail    []byte
	Queues    []EnqueueQueue
	Groups    []EnqueueGroup
	Items     []EnqueueItem
}

// EnqueueCall fills c. Strings are passed by reference and must stay as they
// are until the call has returned.
func EnqueueCall(c *Call, k *EnqueueKeys, in *EnqueueInput) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Uniq, k.UniqOf, k.UniqX, k.IDs, k.Subs, k.Stats, k.Paused, k.Offers, k.Handed)
	for i := range in.Queues {
		q := &in.Queues[i]
		c.Keys = append(c.Keys, q.Leased, q.Scheduled, q.Waiters, q.Ready[0], q.Ready[1], q.Ready[2])
	}
	c.arg(in.Session.Lane, in.Session.Seq, in.Block, in.MaxBytes,
		in.Channels.Wake, in.Channels.Events, in.Partition, in.Detail, len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
	c.arg(len(in.Groups))
	for g := range in.Groups {
		group := &in.Groups[g]
		c.arg(group.Queue+1, group.Lane+1, len(group.IDs))
		for i := range group.IDs {
			c.arg(&group.IDs[i], &group.Bodies[i])
		}
		for i := range group.IDs {
			c.arg(&group.IDs[i])
		}
	}
	c.arg(len(in.Items))
	for i := range in.Items {
		it := &in.Items[i]
		c.arg(it.Queue+1, it.Lane+1, it.ID, it.Due, it.Body, it.Digest, it.Conflict, it.ScopeMS)
	}
}

// Conflict tells that an item's unique key was held.
type Conflict struct {
	Item     int // index into EnqueueInput.Items
	Holder   string
	Replaced bool // the holder has the new body and time
}

// EnqueueReply is the answer of a call whose status is OK.
type EnqueueReply struct {
	NowMS     int64
	First     int64 // first id of the block, 0 when none was asked for
	Conflicts []Conflict
}

// ParseEnqueue reads a reply.
func ParseEnqueue(reply []any) EnqueueReply {
	out := EnqueueReply{NowMS: Now(reply), First: integer(reply, 2)}
	held := list(reply, 3)
	for i := 0; i+2 < len(held); i += 3 {
		out.Conflicts = append(out.Conflicts, Conflict{
			Item: int(integer(held, i)) - 1, Holder: text(held, i+1), Replaced: integer(held, i+2) == 1,
		})
	}
	return out
}
