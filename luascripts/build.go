package luascripts

import "strconv"

// MaxIDs is the most ids, those of runs and of their nodes together, that one
// script call may touch. Callers keep to it.
const MaxIDs = 500

// Build is the script that stores runs of many steps.
var Build = load("build")

// BuildKeys are the fixed keys of Build.
type BuildKeys struct {
	Steps, Sess, Uniq, UniqOf, UniqX, IDs, Subs, Stats, Paused, Sweep, Building string
}

// BuildPhase says how much of a run a call brings.
type BuildPhase string

// The phases. A run that does not fit into one call is opened, filled and
// committed; one that is not committed by its expiry is given up.
const (
	BuildWhole  BuildPhase = "b"
	BuildOpen   BuildPhase = "o" // the graph, and as many nodes as fit
	BuildAdd    BuildPhase = "a" // more nodes
	BuildCommit BuildPhase = "c" // the last nodes, and the roots: the run begins
)

// BuildRun is one run of a call. Which fields count depends on the phase.
type BuildRun struct {
	Key   string // of its hash
	ID    string // decimal, from a block of the session's lane
	Phase BuildPhase

	// Of BuildWhole and BuildOpen.
	Graph  string // the envelope that is stored under the run's id
	Nodes  int    // how many nodes the run has
	KeepMS int64  // how long the run stays when it has ended

	// Of BuildWhole, BuildOpen and BuildCommit. Open only looks whether the key is free.
	Up      string // "member name" of a step that waits for the run under that signal, or ""
	Digest  string // of the run's unique key, "" for none
	ScopeMS int64  // 0: while unfinished

	// Of BuildWhole and BuildCommit.
	Deadline string // "" for none, "+ms" from now, or ms since 1970
	Roots    []BuildRoot
	Sweep    bool // the planner has to release roots that stand among Blocked with the count 0

	ExpiryMS int64 // of BuildOpen and BuildAdd, from now

	Bodies  []BuildBody
	Blocked []BuildBlocked
}

// BuildBody is the envelope of one node. Member is "run.node".
type BuildBody struct{ Member, Body string }

// BuildBlocked is a node that does not start with the run. Field is "d<node>".
type BuildBlocked struct {
	Field string
	Count int // dependencies that have not ended
}

// BuildRoot is a node that starts with the run.
type BuildRoot struct {
	Queue, Lane int    // indexes from 0
	Node        int    // its index
	Due         string // "" now, "+ms" from now, or ms since 1970
}

// BuildInput is what a call of Build carries.
type BuildInput struct {
	Session   Session
	Block     int64 // ids wanted for later calls
	MaxBytes  int   // of one body or graph
	Channels  Channels
	Partition int
	Detail    []byte         // of the roots' events, in the order of the call
	Queues    []EnqueueQueue // of all roots
	Runs      []BuildRun
}

// BuildCall fills c. Strings are passed by reference and must stay as they are
// until the call has returned.
func BuildCall(c *Call, k *BuildKeys, in *BuildInput) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Uniq, k.UniqOf, k.UniqX, k.IDs, k.Subs, k.Stats, k.Paused, k.Sweep, k.Building)
	for i := range in.Queues {
		q := &in.Queues[i]
		c.Keys = append(c.Keys, q.Scheduled, q.Waiters, q.Ready[0], q.Ready[1], q.Ready[2])
	}
	for i := range in.Runs {
		c.Keys = append(c.Keys, in.Runs[i].Key)
	}
	c.arg(in.Session.Lane, in.Session.Seq, in.Block, in.MaxBytes,
		in.Channels.Wake, in.Channels.Events, in.Partition, in.Detail, len(in.Queues))
	for i := range in.Queues {
		c.arg(&in.Queues[i].Name)
	}
	c.arg(len(in.Runs))
	for i := range in.Runs {
		in.Runs[i].args(c)
	}
}

func (r *BuildRun) args(c *Call) {
	c.arg(string(r.shape()))
	for _, text := range []*string{&r.Up, &r.Digest, &r.Deadline} {
		if *text != "" {
			c.arg(text)
		}
	}
	c.arg(&r.ID)
	if r.Phase == BuildWhole || r.Phase == BuildOpen {
		c.arg(&r.Graph)
	}
	for i := range r.Bodies {
		c.arg(&r.Bodies[i].Member, &r.Bodies[i].Body)
	}
}

// shape is what the script reads once for all runs that have it in common.
func (r *BuildRun) shape() []byte {
	b := append(make([]byte, 0, 64+8*len(r.Blocked)+16*len(r.Roots)), r.Phase...)
	b = appendInts(b, ' ', int64(r.Nodes), r.KeepMS)
	b = append(b, ' ')
	for _, f := range [...]struct {
		flag byte
		set  bool
	}{{'u', r.Up != ""}, {'k', r.Digest != ""}, {'l', r.Deadline != ""}, {'s', r.Sweep}, {'-', true}} {
		if f.set {
			b = append(b, f.flag)
		}
	}
	b = appendInts(b, ' ', r.ScopeMS, r.ExpiryMS, int64(len(r.Bodies)))
	for i := range r.Blocked {
		b = appendInts(append(append(b, ' '), r.Blocked[i].Field...), '=', int64(r.Blocked[i].Count))
	}
	for i := range r.Roots {
		root := &r.Roots[i]
		b = strconv.AppendInt(append(b, ' '), int64(root.Queue+1), 10)
		b = appendInts(b, ',', int64(root.Lane+1), int64(root.Node))
		b = append(append(b, ','), root.Due...)
	}
	return b
}

// appendInts appends numbers, each behind the separator.
func appendInts(b []byte, separator byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, separator), n, 10)
	}
	return b
}

// Reasons for which a run of a call was not built.
const (
	BuildHeld  = "held"  // another run or step holds its unique key
	BuildGone  = "gone"  // it was never opened, has been committed, or was given up
	BuildShort = "short" // fewer bodies have come than the run has nodes
)

// BuildRefusal tells that one run was not built, and that nothing of it was
// written by the call.
type BuildRefusal struct {
	Run    int // index into BuildInput.Runs
	Reason string
	Holder string // of BuildHeld: the id that holds the key
}

// BuildReply is the answer of a call whose status is OK.
type BuildReply struct {
	NowMS   int64
	First   int64 // first id of the block, 0 when none was asked for
	Refused []BuildRefusal
}

// ParseBuild reads a reply.
func ParseBuild(reply []any) BuildReply {
	out := BuildReply{NowMS: Now(reply), First: integer(reply, 2)}
	refused := list(reply, 3)
	for i := 0; i+2 < len(refused); i += 3 {
		out.Refused = append(out.Refused, BuildRefusal{
			Run: int(integer(refused, i)) - 1, Reason: text(refused, i+1), Holder: text(refused, i+2),
		})
	}
	return out
}
