package luascripts

import (
	"slices"
	"strconv"
	"strings"
)

// Advance is the script that ends steps whose end changes more than themselves.
var Advance = load("advance")

// AdvanceKeys are the fixed keys of Advance.
type AdvanceKeys struct {
	Steps, Sess, Ghosts, Tries, Uniq, UniqOf, Results, History, Stats, Subs, Paused, IDs, Sweep, Runs, Journals string
}

// AdvanceChild is a node that depends on the node that ends.
type AdvanceChild struct {
	Node        int // its index in the run
	Queue, Lane int // indexes from 0
	DelayMS     int64
}

// AdvanceItem is one step that ends.
type AdvanceItem struct {
	Queue  int // index from 0
	Op     Op  // OpComplete, OpKeep or OpDiscard; a node of a run only completes or is discarded
	Member string
	ID     string
	// Body is the new body of a discarded step, or the output of a completed one:
	// "" for none.
	Body        string
	KeepUntilMS int64  // of OpKeep
	Journal     string // key of its journal, "" for none
	Sweep       string // work that its end leaves to the sweep, "" for none

	// Run is the key of the run that the step is a node of, "" for a run of its
	// own. The rest concerns nodes only.
	Run      string
	Node     int // index from 0
	Attempt  int
	Wide     bool // its dependents are left to the sweep
	Children []AdvanceChild

	Tx []TxOp // what is written if, and only if, the completion counts
}

// AdvanceInput is what a call of Advance carries: at most 100 items and 500 ids,
// children and follow-ups counted. The nodes of one run stand one behind the other.
type AdvanceInput struct {
	Session    Session
	Worker     string
	MaxBytes   int // of one value, payload or body of a transaction
	MaxSignals int // that one run may have queued
	Channels   Channels
	Partition  int
	Partitions int // how many there are
	Stem       int // length of the key of a run without its id
	Detail     []byte
	Listens    bool // asks for what the ends bring about
	Queues     []TurnQueue
	Items      []AdvanceItem
}

// AdvanceCall fills c. Strings are passed by reference and must stay as they are
// until the call has returned.
func AdvanceCall(c *Call, k *AdvanceKeys, in *AdvanceInput) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Tries, k.Uniq, k.UniqOf, k.Results, k.History, k.Stats, k.Subs,
		k.Paused, k.IDs, k.Sweep, k.Runs, k.Journals)
	c.queues(in.Queues)
	for i := range in.Items {
		it := &in.Items[i]
		if it.Run != "" && !in.joins(i) {
			c.Keys = append(c.Keys, it.Run)
		}
		if it.Journal != "" {
			c.Keys = append(c.Keys, it.Journal)
		}
	}
	c.arg(in.Session.Lane, in.Session.Seq, in.Worker, in.MaxBytes, in.MaxSignals, in.Channels.Wake, in.Channels.Events,
		in.Partition, in.Partitions, in.Detail, in.Stem, in.Listens, len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
	c.arg(len(in.Items))
	for i := range in.Items {
		c.advance(&in.Items[i], in.joins(i))
	}
}

// joins tells that the item's run is that of the one before it.
func (in *AdvanceInput) joins(i int) bool {
	return i > 0 && in.Items[i].Run != "" && in.Items[i].Run == in.Items[i-1].Run
}

func (c *Call) advance(it *AdvanceItem, joins bool) {
	c.arg(string(it.shape(joins)), &it.Member, &it.ID)
	if it.Run != "" {
		c.arg(it.Node)
	}
	if it.Body != "" {
		c.arg(&it.Body)
	}
	if it.Op == OpKeep {
		c.arg(it.KeepUntilMS)
	}
	if it.Sweep != "" {
		c.arg(&it.Sweep)
	}
	if len(it.Tx) == 0 {
		return
	}
	c.arg(len(it.Tx))
	for i := range it.Tx {
		c.tx(&it.Tx[i])
	}
}

// shape is what the script reads once for all items that have it in common.
func (it *AdvanceItem) shape(joins bool) []byte {
	b := strconv.AppendInt(make([]byte, 0, 48), int64(it.Queue+1), 10)
	b = append(b, ' ', it.Op[0], ' ')
	for _, f := range [...]struct {
		flag byte
		set  bool
	}{
		{'n', it.Run != ""}, {'o', it.Body != ""}, {'k', it.Op == OpKeep}, {'s', it.Sweep != ""}, {'x', len(it.Tx) > 0},
		{'j', it.Journal != ""}, {'w', it.Wide}, {'+', joins}, {'-', true},
	} {
		if f.set {
			b = append(b, f.flag)
		}
	}
	b = strconv.AppendInt(append(b, ' '), int64(it.Attempt), 10)
	for _, child := range it.Children {
		b = strconv.AppendInt(append(b, ' '), int64(child.Node), 10)
		b = appendInts(b, ',', int64(child.Queue+1), int64(child.Lane+1), child.DelayMS)
	}
	return b
}

// queues adds the keys of queues as Turn has them.
func (c *Call) queues(queues []TurnQueue) {
	c.Keys = slices.Grow(c.Keys, 12*len(queues))
	for i := range queues {
		q := &queues[i]
		c.Keys = append(c.Keys, q.Leased, q.Scheduled, q.Retrying, q.Snoozed, q.Waiting, q.Completed, q.Discarded, q.Cancelled,
			q.Waiters, q.Ready[0], q.Ready[1], q.Ready[2])
	}
}

// AdvanceReply is the answer of a call whose status is OK.
type AdvanceReply struct {
	NowMS   int64
	Lost    map[string]string    // id:token → reason; nothing of such a step is written
	Refused map[string]TxRefusal // id:token → why its transaction cannot be applied; it is still held, and nothing of it is written
	Sweep   bool                 // there is work for the sweep now
	Watched bool                 // somebody subscribes to events
	Lines   string               // of the events that the ends bring about, where the caller listens
}

// ParseAdvance reads a reply.
func ParseAdvance(reply []any) AdvanceReply {
	out := AdvanceReply{NowMS: Now(reply), Sweep: integer(reply, 3) == 1, Watched: integer(reply, 4) == 1, Lines: text(reply, 5)}
	for member, reason := range pairs(list(reply, 2)) {
		if refusal, ok := parseTxRefusal(reason); ok {
			if out.Refused == nil {
				out.Refused = map[string]TxRefusal{}
			}
			out.Refused[member] = refusal
			continue
		}
		if out.Lost == nil {
			out.Lost = map[string]string{}
		}
		out.Lost[member] = reason
	}
	return out
}

// parseTxRefusal reads `tx <position from 1> <reason>`.
func parseTxRefusal(text string) (TxRefusal, bool) {
	rest, ok := strings.CutPrefix(text, "tx ")
	if !ok {
		return TxRefusal{}, false
	}
	position, reason, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(position)
	return TxRefusal{Op: n - 1, Reason: reason}, err == nil
}
