package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/workflow"
)

// graphCodec marks the body of a run of many steps: its payload is the graph.
const graphCodec = 3

// ManySteps is a run of many steps as it stands in Redis, read key by key.
type ManySteps struct {
	*queue.Envelope
	Graph *dag.Graph
	State cyclone.RunState
	// Mark is how the state is stored; 0 while the run is being built.
	Mark byte
	// Fields are those of the run's hash.
	Fields map[string]string
}

// marks are the states of a run as they are stored.
var marks = map[byte]cyclone.RunState{
	0: cyclone.RunRunning, 'r': cyclone.RunRunning, 'F': cyclone.RunRunning, 'X': cyclone.RunRunning,
	'c': cyclone.RunCompleted, 'f': cyclone.RunFailed, 'x': cyclone.RunCancelled,
}

// Run returns the run, or nil when nothing is stored of it.
func (l *Lab) Run(id cyclone.RunID) *ManySteps {
	l.Helper()
	body := l.Redis.HGet(context.Background(), l.Key(id, "steps"), id.String()).Val()
	return l.manySteps(l.partition(id), id.String(), body)
}

func (l *Lab) manySteps(base, id, body string) *ManySteps {
	l.Helper()
	r := &ManySteps{Envelope: new(queue.Envelope)}
	if body == "" || r.Decode([]byte(body)) != nil || r.Codec != graphCodec {
		return nil
	}
	var err error
	if r.Graph, err = dag.Decode(r.Payload); err != nil {
		l.Fatalf("the graph of run %s: %v", id, err)
	}
	r.Fields = l.Redis.HGetAll(context.Background(), base+"run:"+id).Val()
	if st := r.Fields["st"]; st != "" {
		r.Mark = st[0]
	}
	state, known := marks[r.Mark]
	if !known {
		l.Errorf("the state of run %s is %q", id, r.Mark)
	}
	r.State = state
	return r
}

// ended returns how a node has ended; MarkNone when it has not.
func (r *ManySteps) ended(node int) dag.Mark {
	mark, _, _ := dag.ParseMark(r.Fields["s"+strconv.Itoa(node)])
	return mark
}

// blocked tells whether a node waits for others.
func (r *ManySteps) blocked(node int) bool {
	by := r.Fields["d"+strconv.Itoa(node)]
	return by != ""
}

// NodeStates returns the states of the run's nodes by name; nil when nothing is
// stored of it.
func (l *Lab) NodeStates(id cyclone.RunID) map[string]cyclone.StepState {
	l.Helper()
	for {
		before := l.Run(id)
		if before == nil {
			return nil
		}
		states := make(map[string]cyclone.StepState, len(before.Graph.Nodes))
		places := l.memberships(l.partition(id))
		for i := range before.Graph.Nodes {
			states[before.Graph.Nodes[i].Name] = before.nodeState(fmt.Sprintf("%v.%d", id, i), i, places)
		}
		// What is read key by key is of one moment if the run has not moved.
		if after := l.Run(id); after != nil && maps.Equal(before.Fields, after.Fields) {
			return states
		}
	}
}

func (r *ManySteps) nodeState(member string, node int, places []membership) cyclone.StepState {
	switch mark := r.ended(node); {
	case mark == dag.MarkCompleted:
		return cyclone.StepCompleted
	case mark == dag.MarkDiscarded:
		return cyclone.StepExhausted
	case mark != dag.MarkNone:
		return cyclone.StepCancelled
	case r.blocked(node):
		return cyclone.StepBlocked
	}
	for _, m := range places {
		if m.id == member && !m.dropped {
			return m.state
		}
	}
	return ""
}

// UntilRun waits until the run of many steps is in the state.
func (l *Lab) UntilRun(id cyclone.RunID, want cyclone.RunState) {
	l.Helper()
	l.Until(fmt.Sprintf("run %v is %s", id, want), func() bool {
		r := l.Run(id)
		return r != nil && r.State == want
	})
}

// UntilNode waits until the node is in one of the states.
func (l *Lab) UntilNode(id cyclone.RunID, node string, want ...cyclone.StepState) {
	l.Helper()
	l.Until(fmt.Sprintf("node %s of run %v is %s", node, id, want), func() bool { return slices.Contains(want, l.NodeStates(id)[node]) })
}

// RequireNodes fails the test unless the nodes of the run stand so; words are pairs
// as in "charge:completed".
func (l *Lab) RequireNodes(id cyclone.RunID, words ...string) {
	l.Helper()
	states := l.NodeStates(id)
	for _, word := range words {
		node, want, _ := strings.Cut(word, ":")
		if string(states[node]) != want {
			l.Errorf("node %s of run %v is %q, want %s", node, id, states[node], want)
		}
	}
}

// EnqueueRun enqueues a run of many steps by the lab's own client.
func EnqueueRun(l *Lab, b *workflow.Builder) cyclone.RunID {
	l.Helper()
	run, err := b.Enqueue(context.Background(), l.Client())
	if err != nil {
		l.Fatal(err)
	}
	return run.ID()
}

func isIndex(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0
}
