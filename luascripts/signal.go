package luascripts

// Signal is the script that sends a signal to a run.
var Signal = load("signal")

// SignalKeys are the fixed keys of Signal; Signals is the hash of the run's
// signals.
type SignalKeys struct {
	Steps, Sess, Stats, Paused, Sweep, Journals, Signals string
}

// SignalTarget is the run that a signal is for.
type SignalTarget struct {
	Signals string // key of the hash of its signals
	ID      string
	Task    bool // it is a single task
	Queue   int  // of a single task, an index from 0 into the queues of the call
}

// task returns the task's queue as scripts count, 0 for a run of many steps.
func (t *SignalTarget) task() int {
	if t.Task {
		return t.Queue + 1
	}
	return 0
}

// SignalInput is what a call of Signal carries. The steps that wait are roused in
// the queues whose keys it has.
type SignalInput struct {
	Session    Session
	Channels   Channels
	Partition  int
	To         SignalTarget // its Signals is the key in SignalKeys
	Name       string
	Key        string // by which it is known if it is sent again, "" for none
	Payload    string
	Rouse      bool // sends nothing: only rouses who waits for what is queued
	MaxBytes   int
	MaxSignals int // that one run may have queued
	Queues     []TurnQueue
}

// SignalCall fills c.
func SignalCall(c *Call, k *SignalKeys, in *SignalInput) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Stats, k.Paused, k.Sweep, k.Journals, k.Signals)
	c.queues(in.Queues)
	c.arg(in.Session.Lane, in.Session.Seq, in.Rouse, in.To.ID, in.To.task(), in.Name, in.Key, in.Payload, in.MaxBytes, in.MaxSignals,
		in.Channels.Wake, in.Partition, len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
}

// The outcomes of a signal.
const (
	SignalAccepted  = "accepted"
	SignalDuplicate = "duplicate" // one with its key was accepted before
	SignalUnknown   = "unknown"   // there is no such run
	SignalEnded     = "ended"     // the run has ended or is about to
	SignalFull      = "full"      // too many are queued
	SignalTooLarge  = "large"     // its payload is over the limit
)

// SignalReply is the answer of a call whose status is OK. Of a rousing call the
// outcome is SignalAccepted.
type SignalReply struct {
	NowMS   int64
	Outcome string
	// Queues have steps that wait for the signal and are still to be roused: by
	// another call with their keys, or by the sweep, which knows of them.
	Queues []string
}

// ParseSignal reads a reply.
func ParseSignal(reply []any) SignalReply {
	return SignalReply{NowMS: Now(reply), Outcome: text(reply, 2), Queues: texts(list(reply, 3))}
}
