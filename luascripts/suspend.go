package luascripts

// Suspend is the script that takes running tasks off their slots.
var Suspend = load("suspend")

// SuspendKeys are the fixed keys of Suspend.
type SuspendKeys struct {
	Steps, Sess, Ghosts, Stats, Subs, Paused, Journals string
}

// SuspendIn is the index in which a suspended step waits.
type SuspendIn string

// The indexes of suspended steps.
const (
	SuspendWaiting  SuspendIn = "w" // the only one that a signal looks into
	SuspendRetrying SuspendIn = "r"
	SuspendSnoozed  SuspendIn = "z"
)

// SuspendItem is one step to suspend.
type SuspendItem struct {
	Queue, Lane      int    // indexes from 0
	Signals, Journal string // keys
	Member, ID       string
	In               SuspendIn
	Due              string // "" never, "+ms" from now, or ms by Redis' clock
	Body             string // its new body, "" to leave it
	First            bool   // the journal may be new
	Names            []string
	Fields           []JournalField
}

// SuspendInput is what a call of Suspend carries: at most 500 steps, names and
// fields in all.
type SuspendInput struct {
	Session   Session
	Worker    string
	Channels  Channels
	Partition int
	Detail    []byte
	Queues    []TurnQueue
	Items     []SuspendItem
}

// SuspendCall fills c. Strings are passed by reference and must stay as they are
// until the call has returned.
func SuspendCall(c *Call, k *SuspendKeys, in *SuspendInput) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Stats, k.Subs, k.Paused, k.Journals)
	c.queues(in.Queues)
	c.arg(in.Session.Lane, in.Session.Seq, in.Worker, in.Channels.Wake, in.Channels.Events, in.Partition, in.Detail, len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
	c.arg(len(in.Items))
	for i := range in.Items {
		it := &in.Items[i]
		c.Keys = append(c.Keys, it.Signals, it.Journal)
		c.arg(it.Queue+1, it.Lane+1, &it.Member, &it.ID, string(it.In), &it.Due, &it.Body, it.First, len(it.Names))
		for n := range it.Names {
			c.arg(&it.Names[n])
		}
		c.fields(it.Fields)
	}
}

// What Suspend answers for a step, beside [Different], [ReasonLost] and
// [ReasonCancelled].
const (
	Suspended = "suspended"
	Resumed   = "ready" // a signal that it waits for is there: it is ready again
)

// ParseSuspend returns the outcome for each item.
func ParseSuspend(reply []any) []string { return texts(list(reply, 2)) }
