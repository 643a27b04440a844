package queue

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
)

// nodeBatch is how many nodes are looked up in one round trip.
const nodeBatch = 100

// nodes returns the steps of a run, all of them or those of the given indexes. With
// whole, what blocked and completed ones have is read too.
func (v *runView) nodes(ctx context.Context, which []int, whole bool) ([]*stored, error) {
	steps := make([]*stored, len(which))
	var looked []*nodeLook
	for k, i := range which {
		steps[k] = v.plain(i)
		if n := &v.state.Nodes[i]; whole || n.Ended != dag.MarkNone || !n.Blocked {
			looked = append(looked, &nodeLook{step: steps[k], node: i})
		}
	}
	for batch := range slices.Chunk(looked, nodeBatch) {
		if err := v.look(ctx, batch); err != nil {
			return nil, err
		}
	}
	return steps, v.findRunning(ctx, looked)
}

// every returns the indexes of all nodes.
func (v *runView) every() []int {
	all := make([]int, len(v.graph.Nodes))
	for i := range all {
		all[i] = i
	}
	return all
}

// plain is a node as far as the graph and its mark tell.
func (v *runView) plain(i int) *stored {
	n := &v.graph.Nodes[i]
	s := &stored{id: v.id, text: memberOf(v.text, i), part: v.p, queue: n.Queue}
	s.env = &Envelope{
		Kind: n.Kind, Node: n.Name, Queue: n.Queue, Priority: n.Lane, EnqueuedMs: v.env.EnqueuedMs, MaxAttempts: n.MaxAttempts,
		Part: &Part{Index: i},
	}
	s.setMark(&v.state.Nodes[i])
	return s
}

// setMark takes over how a node stands; its state is empty when it is live.
func (s *stored) setMark(n *dag.NodeState) {
	switch {
	case n.Ended == dag.MarkCompleted:
		s.state, s.attempt = cyclone.StepCompleted, n.Attempt
	case n.Ended == dag.MarkDiscarded:
		s.state = cyclone.StepExhausted
	case n.Ended != dag.MarkNone:
		s.state = cyclone.StepCancelled
	case n.Blocked:
		s.state = cyclone.StepBlocked
	default:
		s.state = ""
	}
}

// nodeLook is the look-up of one node.
type nodeLook struct {
	step *stored
	node int

	marks                 *redis.SliceCmd
	body, output          *redis.StringCmd
	ghost, tries, history *redis.StringCmd
	scores                []*redis.FloatCmd
}

// timed are the states of live nodes that have an index by id.
var timed = []cyclone.StepState{cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting}

// look reads what there is of some nodes, in one instant.
func (v *runView) look(ctx context.Context, batch []*nodeLook) error {
	keys := v.p.keys
	run := keys.run(v.text)
	pipe := v.p.client.rdb.TxPipeline()
	for _, l := range batch {
		id, q := l.step.text, keys.queue(l.step.queue)
		l.marks = pipe.HMGet(ctx, run, endedField(l.node), blockedField(l.node))
		l.output = pipe.HGet(ctx, run, outputField(l.node))
		l.body = pipe.HGet(ctx, keys.steps(), id)
		l.ghost = pipe.HGet(ctx, keys.ghosts(), id)
		l.tries = pipe.HGet(ctx, keys.tries(), id)
		l.history = pipe.HGet(ctx, keys.history(), id)
		l.scores = l.scores[:0]
		for _, state := range timed {
			l.scores = append(l.scores, pipe.ZScore(ctx, q.index(state), id))
		}
		l.scores = append(l.scores, pipe.ZScore(ctx, q.discarded, id))
	}
	_, _ = pipe.Exec(ctx) // each command carries its own error
	for _, l := range batch {
		if err := l.marks.Err(); err != nil {
			return err
		}
		if err := l.read(); err != nil {
			return err
		}
	}
	return nil
}

// read takes over what was found.
func (l *nodeLook) read() error {
	s := l.step
	marks := stringsOf(l.marks.Val())
	n, err := nodeState(marks[0], marks[1])
	if err != nil {
		return err
	}
	s.setMark(&n)
	if body := l.body.Val(); body != "" {
		s.setBody(body)
	} else if s.state != cyclone.StepCompleted {
		s.deleted, s.state = true, cyclone.StepCancelled
	}
	s.counters, s.history = parseCounters(l.tries.Val()), l.history.Val()
	s.setResult(l.output.Val())
	last := len(timed)
	if s.state == cyclone.StepExhausted {
		s.score = wholeScore(l.scores[last].Val())
	}
	if s.state != "" {
		return nil
	}
	for k, state := range timed {
		if l.scores[k].Err() == nil {
			s.state, s.score = state, wholeScore(l.scores[k].Val())
		}
	}
	if mark, _ := cutMark(l.ghost.Val()); mark == ghostRevived && s.state == "" {
		s.state = cyclone.StepReady // opened again; its former attempt may still run
	}
	return nil
}

// findRunning tells ready nodes from running ones: there is a lease in their id.
func (v *runView) findRunning(ctx context.Context, looked []*nodeLook) error {
	byQueue := make(map[string]map[string]*stored)
	for _, l := range looked {
		if s := l.step; s.state == "" {
			s.state = cyclone.StepReady
			if byQueue[s.queue] == nil {
				byQueue[s.queue] = make(map[string]*stored)
			}
			byQueue[s.queue][s.text] = s
		}
	}
	for queue, steps := range byQueue {
		var pos position
		for more := true; more; {
			var entries []entry
			var err error
			entries, more, err = fetchSet(ctx, v.p.client.rdb, v.p.keys.queue(queue).leased, &pos, scanCount, false)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if s := steps[e.id]; s != nil {
					s.state, s.score, s.worker = cyclone.StepRunning, e.score, holderOf(e.member)
				}
			}
		}
	}
	return nil
}

// runStateOf is the state of a run as users see it.
func runStateOf(m dag.RunMark) cyclone.RunState {
	switch m {
	case dag.RunCompleted:
		return cyclone.RunCompleted
	case dag.RunFailed:
		return cyclone.RunFailed
	case dag.RunCancelled:
		return cyclone.RunCancelled
	}
	return cyclone.RunRunning
}
