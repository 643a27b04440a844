package workflow_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/workflow"
)

func TestWaitsAreNodesOfTheirOwnKinds(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil")
	paid := workflow.Run(b, "charge", charge, workflow.Value(Order{}))
	approved := workflow.Wait(b, "approval", time.Hour, workflow.After(paid))
	tracked := workflow.WaitSignal[Label](b, "tracking", 0, workflow.OnDepFailure(workflow.RunAnyway), cyclone.WithPriority(cyclone.High))
	workflow.Sleep(b, "pause", time.Second+1, workflow.After(approved, tracked), cyclone.WithQueue("calm"))
	nodes := built(t, b).Nodes

	onQueue := func(q string) wire.Options { return wire.Options{Set: wire.FieldQueue, Queue: q} }
	high := wire.Options{Set: wire.FieldQueue | wire.FieldPriority, Queue: "calm", Priority: wire.High}
	in := func(name string, ms int64) wire.RunInput {
		return wire.RunInput{Value: wire.WaitInput{Name: name, TimeoutMS: ms}}
	}
	want := []wire.RunNode{
		{Name: "approval", Kind: "_wait", Deps: []int{0}, Input: in("approval", 3600_000), Options: onQueue("calm")},
		{Name: "tracking", Kind: "_wait", Policy: wire.DepRun, Input: in("tracking", 0), Options: high},
		{Name: "pause", Kind: "_sleep", Deps: []int{1, 2}, Input: in("pause", 1001), Options: onQueue("calm")},
	}
	if diff := cmp.Diff(want, nodes[1:], sameSpec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQueuesOfWaits(t *testing.T) {
	t.Parallel()
	order := workflow.Value(Order{})
	for name, tt := range map[string]struct {
		build func(b *workflow.Builder) workflow.Dependency // the wait concerned
		want  string
	}{
		"alone": {func(b *workflow.Builder) workflow.Dependency {
			return workflow.Wait(b, "w", 0)
		}, "default"},
		"given": {func(b *workflow.Builder) workflow.Dependency {
			w := workflow.Wait(b, "w", 0, cyclone.WithQueue("own"))
			workflow.Do(b, "a", mail, order, cyclone.WithQueue("a"), workflow.After(w))
			return w
		}, "own"},
		"of the first dependent": {func(b *workflow.Builder) workflow.Dependency {
			before := workflow.Do(b, "x", mail, order, cyclone.WithQueue("x"))
			w := workflow.Wait(b, "w", 0, workflow.After(before))
			workflow.Run(b, "a", label, order, workflow.After(w)) // by its definition
			workflow.Do(b, "b", mail, order, cyclone.WithQueue("b"), workflow.After(w))
			return w
		}, "print"},
		"of a dependent without a queue": {func(b *workflow.Builder) workflow.Dependency {
			before := workflow.Do(b, "x", mail, order, cyclone.WithQueue("x"))
			w := workflow.Wait(b, "w", 0, workflow.After(before))
			workflow.Do(b, "a", mail, order, workflow.After(w))
			return w
		}, "default"},
		"through another wait": {func(b *workflow.Builder) workflow.Dependency {
			w := workflow.Wait(b, "w", 0)
			s := workflow.Sleep(b, "s", time.Second, workflow.After(w))
			workflow.Do(b, "a", mail, order, cyclone.WithQueue("a"), workflow.After(s))
			return w
		}, "a"},
		"of the first dependency": {func(b *workflow.Builder) workflow.Dependency {
			x := workflow.Do(b, "x", mail, order, cyclone.WithQueue("x"))
			y := workflow.Do(b, "y", mail, order, cyclone.WithQueue("y"))
			s := workflow.Sleep(b, "s", time.Second, workflow.After(y, x))
			return workflow.Wait(b, "w", 0, workflow.After(s))
		}, "x"},
	} {
		b := workflow.New("waits")
		w := tt.build(b)
		for _, n := range built(t, b).Nodes {
			if n.Name == w.Name() && n.Options.QueueName() != tt.want {
				t.Errorf("%s: queue %q, want %q", name, n.Options.QueueName(), tt.want)
			}
		}
	}
}
