package luascripts

// Take is the script that gives a task the signal it waits for.
var Take = load("take")

// TakeKeys are the keys of Take; Signals is the hash of the run's signals.
type TakeKeys struct{ Ghosts, Journals, Leased, Journal, Signals string }

// TakeInput is what a call of Take carries.
type TakeInput struct {
	Member, ID string
	Name       string // of the signal
	Field      string // of the journal, where the outcome is recorded
	Head       string // stands before the payload in the record
	DeadlineMS int64  // by Redis' clock, 0 for none
	Timeout    string // the record once the deadline has passed
	First      bool   // the journal may be new
}

// TakeCall fills c.
func TakeCall(c *Call, k *TakeKeys, in *TakeInput) {
	c.Keys = append(c.Keys, k.Ghosts, k.Journals, k.Leased, k.Journal, k.Signals)
	c.arg(in.Member, in.ID, in.Name, in.Field, in.Head, in.DeadlineMS, in.Timeout, in.First)
}

// TakeNothing is the outcome of Take while there is neither signal nor timeout.
const TakeNothing = "nothing"

// ParseTake returns the outcome, [Recorded], [TakeNothing], [ReasonLost] or
// [ReasonCancelled], and for the first the record: the head with a payload, or
// the timeout.
func ParseTake(reply []any) (outcome, record string) { return text(reply, 2), text(reply, 3) }
