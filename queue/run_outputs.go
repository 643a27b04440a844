package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Outputs returns the outputs of the nodes that a claimed node depends on, nil for
// the one step of a run. They are read when they are first asked for.
func (s *Store) Outputs(c *Claimed) wire.Outputs {
	if c.Step.Node == 0 {
		return nil
	}
	return s.outputs(c)
}

func (s *Store) outputs(c *Claimed) *outputs {
	return &outputs{client: s.client, run: c.ID.String(), node: c.Step.Node - 1, partition: c.partition}
}

// nodeName is the name of another node of the claimed one's run, for an error. It is
// looked up: claims know indexes only.
func (s *Store) nodeName(c *Claimed, node int) string {
	ctx, cancel := context.WithTimeout(s.client.life, outputsFor)
	defer cancel()
	g, err := s.outputs(c).load(ctx, s.client.space.Load().parts[c.partition])
	if err != nil || node >= len(g.Nodes) {
		return "number " + strconv.Itoa(node)
	}
	return g.Nodes[node].Name
}

// outputs implements wire.Outputs.
type outputs struct {
	client    *Client
	run       string
	node      int
	partition int

	mu    sync.Mutex
	graph *dag.Graph
}

// outputsFor bounds a look for an output.
const outputsFor = 10 * time.Second

// Output implements [wire.Outputs].
func (o *outputs) Output(node string, into any) (bool, error) {
	ctx, cancel := context.WithTimeout(o.client.life, outputsFor)
	defer cancel()
	p := o.client.space.Load().parts[o.partition]
	g, err := o.load(ctx, p)
	if err != nil {
		return false, fmt.Errorf("queue: output of node %s of run %s: %w", node, o.run, err)
	}
	at := g.Find(node)
	if o.node >= len(g.Nodes) || !slices.Contains(g.Nodes[o.node].Deps, at) {
		return false, nil
	}
	var values []any
	err = persist(ctx, connectFor, func() (err error) {
		values, err = p.client.rdb.HMGet(ctx, p.keys.run(o.run), endedField(at), outputField(at)).Result()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("queue: output of node %s of run %s: %w", node, o.run, err)
	}
	found := stringsOf(values)
	if found[1] == "" {
		return false, nil
	}
	if kept, err := decodeResult([]byte(found[1])); err == nil && kept.Codec == codecNone {
		return false, nil
	}
	return true, o.client.decodeOutput(func() string { return node }, found[0], found[1], into)
}

func (o *outputs) load(ctx context.Context, p *partition) (*dag.Graph, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.graph != nil {
		return o.graph, nil
	}
	var body string
	err := persist(ctx, connectFor, func() (err error) {
		body, err = p.client.rdb.HGet(ctx, p.keys.steps(), o.run).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	var env Envelope
	if err = env.Decode([]byte(body)); err == nil {
		o.graph, err = graphOf(&env)
	}
	return o.graph, err
}

// graphOf returns the graph of a run of many steps.
func graphOf(env *Envelope) (*dag.Graph, error) {
	if env.Codec != codecGraph {
		return nil, errors.New("it is a run of a single step")
	}
	return dag.Decode(env.Payload)
}
