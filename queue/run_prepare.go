package queue

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

const (
	// codecGraph marks the payload of a run of many steps: its graph.
	codecGraph = 3
	// childKept is how long a run that somebody waits for is kept at least.
	childKept = 24 * time.Hour
	// maxGraph bounds the stored graph of a run.
	maxGraph = 4 << 20
)

// runItem is a run of many steps on its way into Redis.
type runItem struct {
	name     string
	graph    string // the envelope that holds the graph
	keepMS   int64
	deadline string
	parent   *Parent // of a child run
	digest   string
	key      string // as the user wrote it
	conflict wire.Conflict
	scopeMS  int64
	replicas int
	nodes    []runNode
	queues   []string // of the nodes
	size     int      // bytes of all bodies
	roots    int      // nodes that depend on nothing
	swept    bool     // the sweep starts them: they are many
	held     bool     // it is stored and does not begin: a completion will begin it

	ticket  *ticket
	receipt *cyclone.Receipt
}

// runNode is one node of a runItem.
type runNode struct {
	kind, name string
	queue      int // index into the item's queues
	lane       int
	deps       int
	due        string // of a node without dependencies
	body       string
}

// prepareRun checks a run and encodes it. Nothing is written yet. What is wrong
// comes back together.
func (c *Client) prepareRun(it *runItem, spec *wire.RunSpec) error {
	if err := c.checkRun(spec); err != nil {
		spec.Reject(-1, err)
	}
	now := c.clock.nowMS()
	g := dag.New(spec)
	parts := partsOf(spec, g)
	it.nodes = make([]runNode, len(spec.Nodes))
	for i := range spec.Nodes {
		if err := c.prepareNode(it, spec, i, parts[i], now); err != nil {
			spec.Reject(i, fmt.Errorf("node %s: %w", spec.Nodes[i].Name, err))
		}
	}
	if err := spec.Err(); err != nil {
		return err
	}
	it.name, it.keepMS = spec.Name, max(g.RetentionMS, 0)
	if spec.Deadline > 0 {
		it.deadline = "+" + strconv.FormatInt(milliseconds(spec.Deadline), 10)
	}
	if it.parent != nil {
		it.keepMS = max(it.keepMS, childKept.Milliseconds())
	}
	it.swept = it.roots > buildNodes
	it.identify(spec)
	env := Envelope{
		Kind: spec.Name, Priority: wire.Default, Codec: codecGraph, Payload: g.Append(nil), EnqueuedMs: now, Meta: spec.Options.Meta,
		Set: wire.FieldRetention, RetentionMs: it.keepMS, Parent: it.parent,
	}
	if it.scopeMS == 0 {
		env.Digest = it.digest // a retry takes the key again
	}
	it.graph = string(env.Append(nil))
	if len(it.graph) > maxGraph {
		return fmt.Errorf("workflow %s: its graph takes %d bytes: the limit is %d", spec.Name, len(it.graph), maxGraph)
	}
	return nil
}

// checkRun refuses what concerns the run as a whole.
func (c *Client) checkRun(spec *wire.RunSpec) error {
	o := &spec.Options
	if err := wire.CheckName("name", spec.Name); err != nil {
		return err
	}
	if len(spec.Nodes) == 0 {
		return errors.New("it has no nodes")
	}
	if o.Set.Has(wire.FieldUnique) && o.Unique.Conflict == wire.ConflictReplace {
		return errors.New("unique: Replace is for runs of a single step")
	}
	if o.Set.Has(wire.FieldUnique) && o.Unique.Key == "" {
		return errors.New("unique: a run of many steps has no input that could stand for the key: give one")
	}
	return c.checkTogether(o)
}

// identify takes the run's unique or request key over.
func (it *runItem) identify(spec *wire.RunSpec) {
	o := &spec.Options
	switch {
	case o.Set.Has(wire.FieldUnique):
		it.key, it.conflict, it.scopeMS = o.Unique.Key, o.Unique.Conflict, o.Unique.Scope.Milliseconds()
		it.digest = digestOf("w", "", spec.Name, it.key, nil)
	case o.Set.Has(wire.FieldRequestKey):
		it.key, it.scopeMS = o.RequestKey, requestKeyLife.Milliseconds()
		it.digest = digestOf("wr", "", spec.Name, it.key, nil)
	}
	if o.Set.Has(wire.FieldWaitReplicas) {
		it.replicas = o.WaitReplicas
	}
}

// prepareNode encodes one node.
func (c *Client) prepareNode(it *runItem, spec *wire.RunSpec, i int, part *Part, now int64) error {
	n := &spec.Nodes[i]
	o := spec.Effective(i)
	env := Envelope{
		Kind: n.Kind, Node: n.Name, Queue: o.QueueName(), Priority: o.Lane(), EnqueuedMs: now, Meta: o.Meta, Part: part,
	}
	var err error
	if n.Input.Mode == wire.FromValue || n.Input.Mode == wire.FromJoin {
		if env.Codec, env.Payload, err = c.codecs.encode(n.Input.Value); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	env.setExplicit(&n.Options, &o)
	body := env.Append(nil)
	if len(body) > c.maxBody() {
		return fmt.Errorf("input and options take %d bytes: the limit is %d", len(body), c.maxBody())
	}
	it.size += len(body)
	it.nodes[i] = runNode{
		kind: n.Kind, name: n.Name, queue: it.queueOf(o.QueueName()), lane: int(o.Lane()), deps: len(n.Deps), body: string(body),
	}
	if len(n.Deps) == 0 {
		it.roots++
		it.nodes[i].due = dueOf(&o)
	}
	return nil
}

func (it *runItem) queueOf(name string) int {
	for i, q := range it.queues {
		if q == name {
			return i
		}
	}
	it.queues = append(it.queues, name)
	return len(it.queues) - 1
}

// partsOf gives each node what it has to know of the graph.
func partsOf(spec *wire.RunSpec, g *dag.Graph) []*Part {
	parts := make([]*Part, len(g.Nodes))
	for i, children := range g.Children() {
		in := &spec.Nodes[i].Input
		part := &Part{Index: i, Wide: g.Wide(i), Mode: in.Mode, Refs: in.Refs}
		if !part.Wide {
			for _, at := range children {
				n := &g.Nodes[at]
				part.Children = append(part.Children, Child{
					Index: at, Queue: n.Queue, Priority: n.Lane, DelayMs: n.DelayMS, StartMs: n.StartMS,
				})
			}
		}
		parts[i] = part
	}
	return parts
}
