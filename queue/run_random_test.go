package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// flows does anything with some random runs, and holds them against their graphs
// after each step.
type flows struct {
	*lab
	rand   *rand.Rand
	ids    []cyclone.RunID
	graphs map[cyclone.RunID]*dag.Graph
	claims []*Claimed
	did    map[string]int
}

// dice draws a graph.
func (f *flows) dice() []string {
	var lines []string
	for i := range 1 + f.rand.IntN(7) {
		name := fmt.Sprint("n", i) + []string{"", "", "?", "!"}[f.rand.IntN(4)]
		var deps []string
		for d := range i {
			if f.rand.IntN(3) == 0 {
				deps = append(deps, fmt.Sprint("n", d))
			}
		}
		lines = append(lines, name+": "+strings.Join(deps, " "))
	}
	return lines
}

func (f *flows) id() cyclone.RunID { return f.ids[f.rand.IntN(len(f.ids))] }

func (f *flows) node() (cyclone.RunID, string) {
	id := f.id()
	return id, f.graphs[id].Nodes[f.rand.IntN(len(f.graphs[id].Nodes))].Name
}

func (f *flows) try(err error) {
	f.Helper()
	for _, a := range append([]error{nil}, allowed...) {
		if errors.Is(err, a) {
			return
		}
	}
	f.Fatal(err)
}

// start claims, and checks that nothing starts before its time has come.
func (f *flows) claimSome() {
	for _, c := range f.turn("default", 1+f.rand.IntN(4)) {
		v, err := f.part(c.ID).loadRun(f.ctx, c.ID)
		f.ok(err)
		i := c.Step.Node - 1
		if n := v.state.Nodes[i]; n.Blocked || n.Ended != dag.MarkNone && n.Ended != dag.MarkDroppedReleased && n.Ended != dag.MarkCancelledReleased {
			f.Errorf("%s starts and stands as %+v", c.Step, n)
		}
		for _, d := range v.graph.Nodes[i].Deps {
			if n := v.state.Nodes[d]; n.Ended == dag.MarkNone && v.graph.Nodes[i].OnDepFailure != wire.DepRun {
				f.Errorf("%s starts before %d has ended", c.Step, d)
			}
		}
		f.claims = append(f.claims, &c)
	}
}

func (f *flows) settleSome() {
	var advance, turn []Settlement
	for _, c := range f.claims {
		switch f.rand.IntN(8) {
		case 0:
			advance = append(advance, Discard(c, f.failure(c, "boom")))
		case 1:
			turn = append(turn, Retry(c, f.failure(c, "no"), 0))
		case 2:
			turn = append(turn, GiveBack(c))
		case 3, 4, 5:
			advance = append(advance, f.done(c, "x"))
		}
	}
	f.settle(turn...)
	for p := range f.client.space.Load().parts {
		var own []Settlement
		for _, st := range advance {
			if st.Claim.partition == p {
				own = append(own, st)
			}
		}
		_, err := f.store.Advance(f.ctx, p, own)
		f.ok(err)
	}
	if f.rand.IntN(3) == 0 {
		f.claims = nil
	}
}

func (f *flows) moves() map[string]func() {
	return map[string]func(){
		"claim": f.claimSome, "claim again": f.claimSome, "claim once more": f.claimSome,
		"settle": f.settleSome, "settle again": f.settleSome,
		"enqueue": func() {
			if len(f.ids) < 6 {
				f.enqueueRun()
			}
		},
		"cancel": func() {
			if f.rand.IntN(4) == 0 {
				f.try(f.client.Cancel(f.ctx, f.id()))
			}
		},
		"cancel node": func() { id, node := f.node(); f.try(f.client.CancelNode(f.ctx, id, node)) },
		"retry":       func() { id, node := f.node(); f.try(f.client.Retry(f.ctx, id, node)) },
		"retry all":   func() { f.try(f.client.RetryAll(f.ctx, f.id())) },
		"retry matching": func() {
			_, err := f.client.RetryMatching(f.ctx, Filter{Kind: "mail"}, nil)
			f.try(err)
		},
		"cancel matching": func() {
			if f.rand.IntN(4) == 0 {
				_, err := f.client.CancelMatching(f.ctx, Filter{State: cyclone.StepRetrying}, nil)
				f.try(err)
			}
		},
		"delete matching": func() {
			if f.rand.IntN(6) == 0 {
				_, err := f.client.DeleteMatching(f.ctx, Filter{State: visited[f.rand.IntN(len(visited))]}, nil)
				f.try(err)
			}
		},
		"delete": func() {
			if f.rand.IntN(8) == 0 {
				f.try(f.client.Delete(f.ctx, f.id()))
			}
		},
		"inspect": func() {
			info, err := f.client.GetRun(f.ctx, f.id())
			f.try(err)
			for _, s := range info.Steps {
				_, err := f.client.Step(f.ctx, info.ID, s.Node)
				f.ok(err)
			}
		},
	}
}

func (f *flows) enqueueRun() {
	spec := graphSpec(f.dice()...)
	graph := dag.New(spec)
	id := f.start(spec)
	f.ids = append(f.ids, id)
	f.graphs[id] = graph
}

func (f *flows) run(n int) {
	f.Helper()
	f.enqueueRun()
	moves := f.moves()
	names := f.names(moves)
	for i := range n {
		name := names[f.rand.IntN(len(names))]
		moves[name]()
		f.did[name]++
		f.sweep()
		f.wantAudit()
		if f.Failed() {
			f.Fatalf("after %d moves, the last one %s; %v", i+1, name, f.did)
		}
	}
}

// end retries and completes everything, and then lets time pass.
func (f *flows) end() {
	f.Helper()
	for _, c := range f.claims {
		f.settle(GiveBack(c))
	}
	f.drainRuns()
	f.wantAudit()
	for _, id := range f.ids {
		info, err := f.client.GetRun(f.ctx, id)
		if errors.Is(err, cyclone.ErrNotFound) {
			continue
		}
		f.ok(err)
		if !info.State.Finished() {
			f.Errorf("run %v is %s: %+v", id, info.State, info.Steps)
		}
		f.ok(f.client.Delete(f.ctx, id))
	}
	f.wantAudit()
	f.turn("default", 100) // takes ghosts out
	f.wantFixedKeysOnly()
}

func TestG11_RandomRuns(t *testing.T) {
	t.Parallel()
	seeds := 8
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			bubbled(t, Config{Partitions: 1 << (seed % 2)}, func(l *lab) {
				f := &flows{lab: l, rand: rand.New(rand.NewPCG(3, uint64(seed))), graphs: map[cyclone.RunID]*dag.Graph{}, did: map[string]int{}}
				f.run(150)
				time.Sleep(2 * claimLease)
				f.end()
			})
		})
	}
}

func TestG11_RandomRunsOnEveryServer(t *testing.T) {
	everywhere(t, func(l *lab) {
		f := &flows{lab: l, rand: rand.New(rand.NewPCG(4, 4)), graphs: map[cyclone.RunID]*dag.Graph{}, did: map[string]int{}}
		f.run(100)
		f.end()
	})
}
