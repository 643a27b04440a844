package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/workflow"
)

// weaver enqueues runs of many steps, and tasks with recorded steps.
type weaver struct {
	w      *world
	name   string
	client *queue.Client
	n      int
}

func (w *world) weave(name string) {
	v := &weaver{w: w, name: name, client: w.newClient(w.net.newHost(name))}
	w.actor(name, 1100*time.Millisecond, v.act)
}

func (v *weaver) act(rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if rng.IntN(3) == 0 {
		j := v.job(rng, sagas)
		receipts, err := v.client.Enqueue(ctx, v.w.kinds.saga.With(j.String(), cyclone.WithQueue(someQueue(rng))))
		if err == nil {
			v.w.ledger.ack(j.Key, receipts[0].ID.String())
		}
		return
	}
	run, err := v.build(rng).Enqueue(ctx, v.client)
	var duplicate *cyclone.DuplicateError
	switch {
	case err == nil:
		v.w.ledger.ackRun(run.ID().String())
	case errors.As(err, &duplicate):
		v.w.ledger.done()
	}
}

// job makes up what a node is to do.
func (v *weaver) job(rng *rand.Rand, plans []string) job {
	v.n++
	j := job{Key: fmt.Sprintf("%s-%d", v.name, v.n), Plan: plans[rng.IntN(len(plans))], N: 1 + rng.IntN(3), Delay: -1}
	j.Work = time.Duration(1+rng.IntN(4)) * 100 * time.Millisecond // often the same, so that nodes end together
	return j
}

func someQueue(rng *rand.Rand) string { return queueNames[rng.IntN(len(queueNames))] }

// nodePlans are what nodes may have their handlers do.
var nodePlans = []string{"ok", "ok", "ok", "ok", "ok", "ok", "tx", "fail", "fatal", "snooze", "poison", "slow"}

// build makes up a run: nodes n0, n1 and so on, each after some of those before it.
func (v *weaver) build(rng *rand.Rand) *workflow.Builder {
	var options []workflow.RunOption
	if rng.IntN(5) == 0 {
		options = append(options, workflow.WithDeadline(time.Duration(1+rng.IntN(12))*time.Second))
	}
	if rng.IntN(6) == 0 {
		options = append(options, cyclone.WithUnique(cyclone.Unique{Key: "run" + strconv.Itoa(rng.IntN(2)), OnConflict: cyclone.Conflict(rng.IntN(2))}))
	}
	f := &flow{v: v, rng: rng, b: workflow.New("flow", options...)}
	if n := v.w.cfg.Large; n > 0 {
		f.large(n)
		return f.b
	}
	switch rng.IntN(6) {
	case 0:
		f.chain(2 + rng.IntN(3))
	case 1, 2:
		f.diamond(2 + rng.IntN(4))
	case 3, 4:
		f.approval()
	default:
		f.random(2 + rng.IntN(6))
	}
	return f.b
}

// flow is a run that is being made up.
type flow struct {
	v     *weaver
	rng   *rand.Rand
	b     *workflow.Builder
	nodes []workflow.Dependency
	refs  []workflow.Ref[string]
}

func (f *flow) name() string { return "n" + strconv.Itoa(len(f.nodes)) }

// add adds a node of any kind behind others.
func (f *flow) add(deps ...workflow.Dependency) {
	k, rng := f.v.w.kinds, f.rng
	options := []cyclone.NodeOption{workflow.After(deps...), cyclone.WithQueue(someQueue(rng))}
	if len(deps) > 0 {
		options = append(options, workflow.OnDepFailure(workflow.DepPolicy(rng.IntN(3))))
	}
	if rng.IntN(8) == 0 {
		options = append(options, cyclone.WithDelay(time.Duration(1+rng.IntN(1500))*time.Millisecond))
	}
	in := workflow.Value(f.v.job(rng, nodePlans).String())
	switch rng.IntN(8) {
	case 0, 1:
		f.add1(workflow.Do(f.b, f.name(), k.action, in, options...))
	case 2:
		f.ref(workflow.Run(f.b, f.name(), k.task, in, options...))
	case 3, 4:
		f.ref(workflow.Run(f.b, f.name(), k.saga, workflow.Value(f.v.job(rng, sagas).String()), options...))
	default:
		f.ref(workflow.Run(f.b, f.name(), k.step, in, options...))
	}
}

func (f *flow) add1(n workflow.Dependency) { f.nodes = append(f.nodes, n) }

func (f *flow) ref(r workflow.Ref[string]) {
	f.add1(r)
	f.refs = append(f.refs, r)
}

// chain is nodes one after another.
func (f *flow) chain(n int) {
	f.add()
	for range n {
		f.add(f.nodes[len(f.nodes)-1])
	}
}

// sidePlans are those of nodes that are to end together.
var sidePlans = []string{"ok", "ok", "ok", "ok", "ok", "tx", "fatal"}

// diamond is a node, several that take about equally long, and one that takes all of
// their outputs.
func (f *flow) diamond(wide int) {
	k := f.v.w.kinds
	f.ref(workflow.Run(f.b, f.name(), k.step, workflow.Value(f.v.job(f.rng, nodePlans).String())))
	top := f.nodes[0]
	work := f.v.job(f.rng, nodePlans).Work
	policy := workflow.OnDepFailure(workflow.DepPolicy(f.rng.IntN(3)))
	fatal := f.rng.IntN(3) == 0 // one of them fails the run while the others complete
	if fatal {
		policy = workflow.OnDepFailure(workflow.FailRun)
	}
	var sides []workflow.Ref[string]
	for i := range wide {
		j := f.v.job(f.rng, sidePlans)
		j.Work = work + time.Duration(f.rng.IntN(5))*time.Millisecond
		if fatal {
			j.Plan = "deaf" // completes although it was cancelled
		}
		if fatal && i == 0 {
			j.Plan, j.Work = "fatal", work
		}
		r := workflow.Run(f.b, f.name(), k.step, workflow.Value(j.String()), workflow.After(top), policy)
		f.ref(r)
		sides = append(sides, r)
	}
	f.ref(workflow.Run(f.b, f.name(), k.gather, workflow.All(sides...), policy))
}

// large is a node, very many that depend on it and do little, and one that depends on
// all of those.
func (f *flow) large(wide int) {
	k := f.v.w.kinds
	f.add()
	var all []workflow.Dependency
	for i := range wide {
		j := f.v.job(f.rng, []string{"ok"})
		j.Work = time.Duration(1+i%7) * time.Millisecond
		f.add1(workflow.Do(f.b, f.name(), k.action, workflow.Value(j.String()), workflow.After(f.nodes[0]), cyclone.WithQueue(someQueue(f.rng))))
		all = append(all, f.nodes[len(f.nodes)-1])
	}
	f.add(all...)
}

// approval waits for a signal before it goes on, and sleeps after it.
func (f *flow) approval() {
	f.add()
	f.add1(workflow.Wait(f.b, f.name(), waitFor(f.rng), workflow.After(f.nodes[0]), cyclone.WithQueue(someQueue(f.rng))))
	f.add(f.nodes[1])
	f.add1(workflow.Sleep(f.b, f.name(), time.Duration(1+f.rng.IntN(2000))*time.Millisecond, workflow.After(f.nodes[1])))
	f.add(f.nodes[2], f.nodes[3])
}

// waitFor is a timeout, 0 for none.
func waitFor(rng *rand.Rand) time.Duration {
	return time.Duration(rng.IntN(5)) * 300 * time.Millisecond
}

// random is any graph.
func (f *flow) random(n int) {
	for range n {
		var deps []workflow.Dependency
		for _, d := range f.nodes {
			if f.rng.IntN(3) == 0 {
				deps = append(deps, d)
			}
		}
		f.add(deps...)
	}
}

// ackRun notes that an enqueue has returned the id of a run of many steps.
func (l *ledger) ackRun(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops++
	l.ackedRuns = append(l.ackedRuns, id)
}
