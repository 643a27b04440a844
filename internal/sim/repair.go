package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// mender is an operator of runs of many steps: sends signals, cancels and retries
// nodes, retries failed runs, deletes.
type mender struct {
	w      *world
	client *queue.Client
	n      int
}

func (w *world) mend(name string) {
	m := &mender{w: w, client: w.newClient(w.net.newHost(name))}
	w.actor(name, 350*time.Millisecond, m.act)
}

func (m *mender) act(rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	switch dice := rng.IntN(20); {
	case dice < 5:
		m.signalSome(ctx, rng)
	case dice < 9:
		m.onNode(rng, Going, func(id cyclone.RunID, node string) error { return m.client.CancelNode(ctx, id, node) })
	case dice < 15:
		m.onNode(rng, Discarded, func(id cyclone.RunID, node string) error { return m.client.Retry(ctx, id, node) })
	case dice < 16:
		m.onRun(rng, Discarded, func(id cyclone.RunID) error { return m.client.RetryAll(ctx, id) })
	case dice < 17:
		m.onRun(rng, Going, func(id cyclone.RunID) error { return m.client.Cancel(ctx, id) })
	case dice < 19:
		state := []State{Going, Completed, Discarded, Cancelled}[rng.IntN(4)]
		m.onRun(rng, state, func(id cyclone.RunID) error { return m.client.Delete(ctx, id) })
	default:
		states := []cyclone.StepState{cyclone.StepReady, cyclone.StepRunning, cyclone.StepRetrying, cyclone.StepWaiting}
		_, err := m.client.DeleteMatching(ctx, queue.Filter{Kind: "step", State: states[rng.IntN(len(states))], Queue: someQueue(rng)}, nil)
		m.done(err)
	}
}

func (m *mender) done(err error) {
	if err == nil {
		m.w.ledger.done()
	}
}

// onRun does something to a run of many steps in a state.
func (m *mender) onRun(rng *rand.Rand, s State, do func(cyclone.RunID) error) {
	if runs := m.w.ledger.flows(s); len(runs) > 0 {
		m.done(do(runID(runs[rng.IntN(len(runs))])))
	}
}

// onNode does something to a node: any of a run that goes on, or one that was
// discarded.
func (m *mender) onNode(rng *rand.Rand, s State, do func(cyclone.RunID, string) error) {
	ids := m.w.ledger.ids(func(is State) bool { return is == s || s == Going && (is == Blocked || unfinished(is)) })
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.Contains(id, ".") })
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	run, index, _ := nodeOf(ids[rng.IntN(len(ids))])
	m.done(do(runID(run), "n"+strconv.Itoa(index)))
}

func runID(text string) cyclone.RunID {
	n, _ := strconv.ParseInt(text, 10, 64)
	return cyclone.RunID(n)
}

// signalSome sends a signal to a run, before it waits for one, while it does or too
// late, and now and then the same one again.
func (m *mender) signalSome(ctx context.Context, rng *rand.Rand) {
	ids := m.w.ledger.ids(func(s State) bool { return s == Going || s == Suspended })
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	id := ids[rng.IntN(len(ids))]
	m.signal(ctx, id, rng.IntN(3) == 0)
}

// signal sends one to what a step waits for. A keyed one is sent twice.
func (m *mender) signal(ctx context.Context, id string, keyed bool) {
	run, _, _ := strings.Cut(id, ".")
	m.n++
	payload := fmt.Sprintf("signal-%d", m.n)
	var options []queue.SignalOption
	if keyed {
		options = append(options, queue.SignalKey(payload))
	}
	for _, name := range []string{signalName, "n1"} {
		err := m.client.Signal(ctx, runID(run), name, payload+name, options...)
		if m.done(err); keyed {
			m.done(m.client.Signal(ctx, runID(run), name, payload+name, options...))
		}
	}
}

// teases has signals sent at the time when waits time out.
func (w *world) teases() {
	m := &mender{w: w, client: w.newClient(w.net.newHost("teaser")), n: 1_000_000}
	w.actors.Go(func() {
		for id := range w.teaser {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			m.signal(ctx, id, false)
			cancel()
		}
	})
}

// tease plans a signal for the time when the wait of a step ends, give or take.
func (w *world) tease(id string, in time.Duration) {
	key := hashOf(w.cfg.Seed, []byte("tease"), []byte(id))
	if w.cfg.Driver != EngineDriver || key%4 == 0 || in > time.Minute {
		return
	}
	if in += time.Duration(key%80)*time.Millisecond - 30*time.Millisecond; key%8 < 4 {
		in += time.Duration(key>>8%500) * time.Millisecond // it may take a while until somebody looks
	}
	w.kernel.in(max(in, time.Nanosecond), key, func() {
		if !w.running.Load() {
			return
		}
		select {
		case w.teaser <- id:
		default: // there is enough to send
		}
	})
}

// appease sends signals to all that still wait for one, once no more faults come.
func (m *mender) appease(ctx context.Context) {
	for _, id := range m.w.ledger.ids(func(s State) bool { return s == Suspended }) {
		m.signal(ctx, id, false)
	}
}

// flows lists the runs of many steps in a state.
func (l *ledger) flows(state State) (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, r := range l.runs {
		if r.flow && r.state == state {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}
