package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// graphSpec makes a run from lines of `name: dependency dependency…`; `name!` runs
// whatever has become of its dependencies, `name?` is cancelled with them. Each node
// is of kind mail.
func graphSpec(lines ...string) *wire.RunSpec {
	spec := &wire.RunSpec{Name: "flow", Result: -1}
	index := make(map[string]int)
	for _, line := range lines {
		name, deps, _ := strings.Cut(line, ":")
		n := wire.RunNode{Kind: "mail", Def: mail.Wire()}
		switch {
		case strings.HasSuffix(name, "!"):
			n.Policy = wire.DepRun
		case strings.HasSuffix(name, "?"):
			n.Policy = wire.DepCancel
		}
		n.Name = strings.TrimRight(name, "!?")
		n.Input.Value = "for " + n.Name
		for _, dep := range strings.Fields(deps) {
			n.Deps = append(n.Deps, index[dep])
		}
		slices.Sort(n.Deps)
		index[n.Name] = len(spec.Nodes)
		spec.Nodes = append(spec.Nodes, n)
	}
	return spec
}

// returning makes the last node the one whose output is the run's.
func returning(spec *wire.RunSpec) *wire.RunSpec {
	spec.Result = len(spec.Nodes) - 1
	return spec
}

// start enqueues a run of many steps.
func (l *lab) start(spec *wire.RunSpec) cyclone.RunID {
	l.Helper()
	receipt, err := l.client.EnqueueRun(l.ctx, spec)
	l.ok(err)
	return receipt.ID
}

// claimNodes claims what is ready in the default queue, by node.
func (l *lab) claimNodes() map[string]*Claimed {
	l.Helper()
	all := make(map[string]*Claimed)
	for _, c := range l.turn("default", 200) {
		all[c.Envelope.Node] = &c
	}
	return all
}

// advance settles claims that end steps whose end changes more than themselves, and
// then sweeps.
func (l *lab) advance(settle ...Settlement) *AdvanceReply {
	l.Helper()
	reply := &AdvanceReply{}
	for p := range l.client.space.Load().parts {
		var own []Settlement
		for _, st := range settle {
			if st.Claim.partition == p {
				own = append(own, st)
			}
		}
		if len(own) > 0 {
			var err error
			reply, err = l.store.Advance(l.ctx, p, own)
			l.ok(err)
		}
	}
	l.sweep()
	return reply
}

// sweep does all the work of the sweep that is due.
func (l *lab) sweep() {
	l.Helper()
	for p := range l.client.space.Load().parts {
		for more := true; more; {
			var err error
			more, err = l.store.Sweep(l.ctx, p)
			l.ok(err)
		}
	}
}

// done completes a claim with an output.
func (l *lab) done(c *Claimed, output string) Settlement {
	l.Helper()
	if c == nil {
		l.Fatal("it was not claimed")
	}
	codec, b, err := l.client.Encode(output)
	l.ok(err)
	return Complete(c, c.Envelope.Failures+1, codec, b, 0, l.client.clock.now())
}

func (l *lab) input(c *Claimed) string {
	l.Helper()
	var in string
	l.ok(l.store.Decode(c, &in))
	return in
}

// wantNodes checks the states of a run's nodes, `name state` each, and that of the run.
func (l *lab) wantNodes(id cyclone.RunID, state cyclone.RunState, want ...string) {
	l.Helper()
	run, err := l.client.GetRun(l.ctx, id)
	l.ok(err)
	var got []string
	for _, s := range run.Steps {
		if s.RunID != id {
			l.Errorf("%s is of run %v", s.Node, s.RunID)
		}
		got = append(got, s.Node+" "+string(s.State))
	}
	if diff := cmp.Diff(want, got); diff != "" || run.State != state {
		l.Errorf("run %v is %s, want %s (-want +got):\n%s", id, run.State, state, diff)
	}
}

// drainRuns completes all nodes until nothing is ready.
func (l *lab) drainRuns() {
	l.Helper()
	for range 1000 {
		claims := l.turn("default", 200)
		if len(claims) == 0 {
			return
		}
		var settle []Settlement
		for i := range claims {
			settle = append(settle, l.done(&claims[i], "out of "+claims[i].Envelope.Node))
		}
		l.advance(settle...)
	}
	l.Fatal("it never ends")
}

func TestRunOfManySteps(t *testing.T) {
	everywhere(t, func(l *lab) {
		spec := returning(graphSpec("a", "b: a", "c: a", "d: b c"))
		spec.Nodes[3].Input = wire.RunInput{Mode: wire.FromNode, Refs: []wire.InputRef{{Node: 1}}}
		id := l.start(spec)
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b blocked", "c blocked", "d blocked")
		claims := l.claimNodes()
		if len(claims) != 1 || l.input(claims["a"]) != "for a" {
			l.Fatalf("claimed %v", claims)
		}
		l.wantNodes(id, cyclone.RunRunning, "a running", "b blocked", "c blocked", "d blocked")
		l.advance(l.done(claims["a"], "A"))
		l.wantNodes(id, cyclone.RunRunning, "a completed", "b ready", "c ready", "d blocked")
		claims = l.claimNodes()
		l.advance(l.done(claims["b"], "B"))
		l.wantNodes(id, cyclone.RunRunning, "a completed", "b completed", "c running", "d blocked")
		l.wantAudit()
		l.advance(l.done(claims["c"], "C"))
		claims = l.claimNodes()
		if in := l.input(claims["d"]); in != "B" {
			l.Errorf("the input of d is %q", in)
		}
		l.advance(l.done(claims["d"], "D"))
		l.wantNodes(id, cyclone.RunCompleted, "a completed", "b completed", "c completed", "d completed")
		var out string
		if l.ok(l.client.Await(l.ctx, id, &out)); out != "D" {
			l.Errorf("the run's output is %q", out)
		}
		l.wantAudit()
		l.ok(l.client.Delete(l.ctx, id))
		l.wantAudit()
		l.wantFixedKeysOnly()
	})
}

func TestDiscardFailsTheRun(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a", "b", "c: a", "d"))
		claims := l.claimNodes()
		l.advance(Discard(claims["a"], l.failure(claims["a"], "boom")))
		l.wantNodes(id, cyclone.RunFailed, "a discarded", "b cancelled", "c cancelled", "d cancelled")
		var failed *cyclone.RunError
		err := l.client.Await(l.ctx, id, nil)
		if !errors.As(err, &failed) || failed.Node != "a" || failed.Message != "boom" || failed.State != cyclone.RunFailed {
			l.Errorf("await: %+v", err)
		}
		reply := l.advance(l.done(claims["b"], "late"))
		if reply.Lost[0] != cyclone.ErrCancelled {
			l.Errorf("a cancelled node was settled: %+v", reply)
		}
		l.settle(GiveBack(claims["d"]))
		l.wantAudit()
		l.ok(l.client.Retry(l.ctx, id, "a", cyclone.RetryAdditionalAttempts(2), cyclone.RetryReason("mended")))
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b ready", "c blocked", "d ready")
		l.wantAudit()
		l.drainRuns()
		l.wantNodes(id, cyclone.RunCompleted, "a completed", "b completed", "c completed", "d completed")
		l.wantAudit()
	})
}

func TestLargeRunIsStoredInParts(t *testing.T) {
	everywhere(t, func(l *lab) {
		spec := &wire.RunSpec{Name: "flow", Result: 1000}
		var all []int
		for i := range 1000 {
			spec.Nodes = append(spec.Nodes, wire.RunNode{Name: fmt.Sprint("n", i), Kind: "mail", Def: mail.Wire()})
			all = append(all, i)
		}
		spec.Nodes = append(spec.Nodes, wire.RunNode{Name: "end", Kind: "mail", Def: mail.Wire(), Deps: all})
		id := l.start(spec)
		l.sweep()
		l.wantAudit()
		l.drainRuns()
		var out string
		if l.ok(l.client.Await(l.ctx, id, &out)); out != "out of end" {
			l.Errorf("the run's output is %q", out)
		}
		l.ok(l.client.Delete(l.ctx, id))
		l.wantFixedKeysOnly()
	})
}

func TestRunsEnqueuedTogether(t *testing.T) {
	everywhere(t, func(l *lab) {
		ids := make(chan cyclone.RunID, 200)
		for i := range 200 {
			go func() {
				receipt, err := l.client.EnqueueRun(l.ctx, graphSpec("a", "b: a", fmt.Sprint("c", i, ": a b")))
				if err != nil {
					l.Error(err)
				}
				ids <- receipt.ID
			}()
		}
		seen := make(map[cyclone.RunID]bool)
		for range 200 {
			seen[<-ids] = true
		}
		if len(seen) != 200 || seen[0] {
			l.Errorf("%d ids", len(seen))
		}
		l.wantAudit()
		l.drainRuns()
		for id := range seen {
			l.ok(l.client.Await(l.ctx, id, nil))
		}
	})
}
