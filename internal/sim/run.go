package sim

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// Result is what a simulation came to.
type Result struct {
	Config Config
	// Trace is the hash of everything that reached the server, and when.
	Trace string
	Cover Coverage
	// Acknowledged counts the operations whose callers got an answer. Runs is how
	// many steps there were, Virtual how long it took on virtual time.
	Acknowledged, Runs int
	Virtual            time.Duration
	// Failures are the rules that were broken, the first first; Log the last
	// changes before.
	Failures, Log []string
}

// drainIn is how long everything may take to end once the faults have stopped. What
// takes longest is a step whose kind a worker does not know: that puts it back for 5
// to 15 s, again and again if it is unlucky.
const drainIn = 5 * time.Minute

// Simulate runs one simulation in a bubble of its own.
func Simulate(t *testing.T, cfg Config) (r Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, cfg)
		go w.kernel.run()
		w.play()
		r = w.result()
		w.close()
	})
	return r
}

// play goes through the phases: load and faults; no faults; drain; audit.
func (w *world) play() {
	w.running.Store(true)
	if w.cfg.Watched {
		for p := range w.cfg.Partitions {
			_ = w.server.Miniredis().Set(fmt.Sprintf("%s:{%d}:subs", queue.DefaultPrefix, p), "1")
		}
	}
	w.net.broken.Store(true)
	for range w.cfg.Workers {
		w.startWorker()
	}
	for i := range w.cfg.Producers {
		w.produce(fmt.Sprintf("p%d", i))
	}
	for i := range w.cfg.Operators {
		w.operate(fmt.Sprintf("o%d", i))
	}
	if w.cfg.Driver == EngineDriver {
		for i := range w.cfg.Weavers {
			w.weave(fmt.Sprintf("f%d", i))
		}
		w.mend("m0")
	}
	w.teases()
	w.meddles()
	w.nemesis()
	for end := time.Now().Add(w.cfg.Load); time.Now().Before(end) && w.running.Load(); {
		rest(100 * time.Millisecond)
	}
	w.running.Store(false)
	w.heal()
	rest(2 * time.Millisecond) // nobody meddles any more
	close(w.meddler)
	close(w.teaser)
	w.actors.Wait()
	w.drain()
	if w.cfg.Driver == EngineDriver && !w.failed() {
		w.probe()
	}
	w.stop()
	w.trace.ended = true
	if !w.failed() {
		w.inspect()
	}
}

// heal ends all faults.
func (w *world) heal() {
	w.net.broken.Store(false)
	w.net.refuse.setFull(false)
	w.net.refuse.setTrouble("")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.workers {
		h.host.freeze(0)
	}
}

// drain waits until every step has ended.
func (w *world) drain() {
	h := w.net.newHost("drain")
	client := w.newClient(h)
	for _, q := range queueNames {
		w.must("resume", func() error { return client.Resume(w.t.Context(), q) })
	}
	mender := &mender{w: w, client: client, n: 2_000_000}
	for end := time.Now().Add(drainIn); time.Now().Before(end); {
		if time.Since(w.trace.start) > time.Minute { // what waits for a time has had it
			mender.appease(w.t.Context())
		}
		if len(w.ledger.ids(unfinished)) == 0 || w.failed() {
			return
		}
		rest(500 * time.Millisecond)
	}
	w.fail("not all has ended %v after the faults: %v; %v", drainIn, w.ledger.unfinished(), w.living())
}

func (w *world) must(what string, do func() error) {
	if err := do(); err != nil {
		w.fail("%s: %v", what, err)
	}
}

// promptly is how late a step may start while workers idle: the fallback of one
// that was woken in vain, a fifth more for its jitter, and a second.
const promptly = fallback*6/5 + time.Second

// probe enqueues a few steps while nothing else is to be done: they start in time.
func (w *world) probe() {
	client := w.newClient(w.net.newHost("probe"))
	ctx := w.t.Context()
	due := map[string]time.Time{}
	for i := range 8 {
		j := job{Key: fmt.Sprintf("probe-%d", i), Plan: "ok", Work: 1}
		var options []cyclone.EnqueueOption
		if i%2 == 1 {
			j.Delay = time.Duration(i) * 300 * time.Millisecond
			options = append(options, cyclone.WithDelay(j.Delay))
		}
		due[j.Key] = time.Now().Add(j.Delay)
		w.must("probe", func() error {
			_, err := client.Enqueue(ctx, w.kinds.action.With(j.String(), append(options, cyclone.WithQueue(queueNames[i%3]))...))
			return err
		})
		rest(70 * time.Millisecond)
	}
	rest(8*300*time.Millisecond + 2*promptly)
	w.mu.Lock()
	begun := w.begun
	w.mu.Unlock()
	for key, at := range due {
		if start, ok := begun[key]; !ok || start.Sub(at) > promptly || start.Before(at.Add(-time.Millisecond)) {
			w.fail("%s was due at %v and started at %v (%t)", key, at.Sub(w.trace.start), start.Sub(w.trace.start), ok)
		}
	}
}

// stop ends the workers softly.
func (w *world) stop() {
	w.closing.Store(true)
	w.mu.Lock()
	workers := w.workers
	w.mu.Unlock()
	for _, h := range workers {
		if h.leave() {
			h.cancel()
		}
	}
	w.crew.Wait()
}

// inspect is the last look: the rules of the whole, the public audit, and what is
// left when retention has passed.
func (w *world) inspect() {
	w.audit.finish()
	client := w.newClient(w.net.newHost("inspect"))
	ctx := w.t.Context()
	report, err := client.Audit(ctx, queue.AuditOptions{})
	if err != nil {
		w.fail("audit: %v", err)
	}
	for _, f := range report.Findings {
		w.fail("audit: %s: %s %s: %s", f.Rule, f.Key, f.Member, f.Text)
	}
	store := queue.NewStore(client, "janitor")
	rest(2 * retention)
	w.clock.jump(25 * time.Hour)    // what a parent may ask for stays for a day
	rest(time.Minute + time.Second) // by the client's clock, which has not seen the jump, a journal stays for a minute
	for range 4 * (len(queueNames) + 1) {
		w.must("maintain", func() error { return store.Maintain(ctx, queueNames, lease) })
	}
	if w.cover.Enqueued < 10 {
		w.fail("only %d steps: this proves nothing", w.cover.Enqueued)
	}
	w.leftovers()
}

// lasting are the keys that a deployment without steps may have.
var lasting = []string{"ids", "sess", "sessx", "stats", "workers", "queues", "subs", "uniqx", "tx"}

// leftovers checks that nothing is left of steps.
func (w *world) leftovers() {
	mini := w.server.Miniredis()
	for _, key := range mini.Keys() {
		name := key[strings.LastIndex(key, "}:")+1:]
		name = strings.TrimPrefix(name, ":")
		kind, _, _ := strings.Cut(name, ":")
		switch {
		case key == queue.DefaultPrefix+":meta":
		case kind == "uniq":
		case kind == "uniqof": // what is held for a time outlives its step
			held, _ := mini.HKeys(key)
			for _, id := range held {
				if !strings.HasPrefix(mini.HGet(key, id), "d") {
					w.fail("step %s is gone and holds a key", id)
				}
			}
		case kind == "leased" || kind == "waiters" || kind == "offers":
			if set, err := mini.SortedSet(key); kind == "leased" && (err != nil || len(set) != 1) {
				w.fail("leases are left: %v", set)
			}
		default:
			found := false
			for _, l := range lasting {
				found = found || kind == l
			}
			if !found {
				w.fail("left over: %s", key)
			}
		}
	}
}

func (w *world) result() Result {
	runs := len(w.ledger.ids(whatever))
	w.mu.Lock()
	defer w.mu.Unlock()
	return Result{
		Config: w.cfg, Trace: w.trace.hash(), Cover: *w.cover, Acknowledged: w.ledger.ops, Runs: runs,
		Virtual: time.Since(w.trace.start), Failures: w.failures, Log: w.trace.log,
	}
}

func (w *world) close() {
	w.closing.Store(true)
	w.mu.Lock()
	retired := w.retired
	w.mu.Unlock()
	for _, f := range retired {
		f()
	}
	rest(time.Second) // connections end
	w.kernel.stop()
	w.server.Close()
}
