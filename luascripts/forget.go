package luascripts

// Forget is the script that removes runs of many steps.
var Forget = load("forget")

// ForgetKeys are the fixed keys of Forget.
type ForgetKeys struct {
	Steps, Tries, Uniq, UniqOf, Results, History, Runs, Building, Sweep, Journals, Run string
}

// ForgetQueue is a queue with the nodes of it that Forget takes out of its
// discarded index.
type ForgetQueue struct {
	Discarded string
	Members   []string
}

// ForgetInput is what a call of Forget carries: one chunk of one run.
type ForgetInput struct {
	ID string
	// Now removes a run that has ended before its time has passed, or a build that
	// its builder gives up.
	Now bool
	// Last tells that no other chunk follows: the run itself goes too.
	Last     bool
	Members  []string // nodes of which everything goes, "run.node"
	Queues   []ForgetQueue
	Journals []string // keys of the nodes' journals
}

// ForgetCall fills c.
func ForgetCall(c *Call, k *ForgetKeys, in *ForgetInput) {
	c.Keys = append(c.Keys, k.Steps, k.Tries, k.Uniq, k.UniqOf, k.Results, k.History, k.Runs, k.Building, k.Sweep, k.Journals, k.Run)
	c.arg(in.ID, in.Now, in.Last, len(in.Members))
	for i := range in.Members {
		c.arg(&in.Members[i])
	}
	c.arg(len(in.Queues))
	for i := range in.Queues {
		q := &in.Queues[i]
		c.Keys = append(c.Keys, q.Discarded)
		c.arg(len(q.Members))
		for m := range q.Members {
			c.arg(&q.Members[m])
		}
	}
	c.Keys = append(c.Keys, in.Journals...)
}

// Forgotten tells whether the chunk was removed: false when the run lives or has
// time left, or is not known.
func Forgotten(reply []any) bool { return integer(reply, 1) == 1 }
