package conformance_test

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/workflow"
)

// crew is an action for the nodes of a workflow: each entry is noted, and nodes can
// be told what to do.
type crew struct {
	*cyclone.Action[string]

	mu    sync.Mutex
	all   []string
	tasks map[string]func(ctx cyclone.Context) error
}

// newCrew returns a crew whose nodes do as tasks say, and nothing if that says
// nothing of them.
func newCrew(tasks map[string]func(ctx cyclone.Context) error, opts ...cyclone.DefinitionOption) *crew {
	c := &crew{tasks: tasks}
	c.Action = cyclone.NewAction("crew", func(ctx cyclone.Context, _ string) error {
		c.mu.Lock()
		c.all = append(c.all, ctx.Node())
		task := c.tasks[ctx.Node()]
		c.mu.Unlock()
		if task == nil {
			return nil
		}
		return task(ctx)
	}, opts...)
	return c
}

// entered returns the nodes that were entered, in order.
func (c *crew) entered() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// times returns how often the node was entered.
func (c *crew) times(node string) int {
	n := 0
	for _, name := range c.entered() {
		if name == node {
			n++
		}
	}
	return n
}

// instead changes what a node does from now on.
func (c *crew) instead(node string, task func(ctx cyclone.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks[node] = task
}

// do adds a node of the crew.
func (c *crew) do(b *workflow.Builder, node string, opts ...cyclone.NodeOption) workflow.Node {
	return workflow.Do(b, node, c.Action, workflow.Value(node), opts...)
}

// failsForGood is a node that fails at once and for good.
func failsForGood(cyclone.Context) error { return cyclone.Permanent(errBoom) }

// holding is a handler that stays until its context ends or it is let go, and tells
// how that came.
type holding struct {
	in   chan struct{}
	out  chan error
	free chan struct{}
}

func newHolding() *holding {
	return &holding{make(chan struct{}, 10), make(chan error, 10), make(chan struct{})}
}

func (h *holding) run(ctx cyclone.Context) error {
	h.in <- struct{}{}
	select {
	case <-ctx.Done():
		h.out <- context.Cause(ctx)
	case <-h.free:
		h.out <- nil
	}
	return nil // in vain where the context has ended
}

// branch and anyway say what becomes of a node when one before it fails.
var (
	branch = workflow.OnDepFailure(workflow.CancelBranch)
	anyway = workflow.OnDepFailure(workflow.RunAnyway)
)

// mustWait waits for the run and returns its error.
func mustWait(l *lab.Lab, id cyclone.RunID) error {
	l.Helper()
	ctx, cancel := patiently(l)
	defer cancel()
	err := cyclone.Attach(l.Client(), id).Wait(ctx)
	if ctx.Err() != nil {
		l.Fatalf("run %v has not ended: %v", id, l.NodeStates(id))
	}
	return err
}

// zDue makes node 0 of a run due at once.
func zDue(id cyclone.RunID) redis.Z { return redis.Z{Score: 16, Member: id.String() + ".0"} }
