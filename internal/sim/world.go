package sim

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
)

// queueNames are the queues of the simulation.
var queueNames = []string{"default", "bulk", "mail"}

// world is one simulation under way.
type world struct {
	t       testing.TB
	cfg     Config
	server  *embedded.Server
	kernel  *kernel
	net     *network
	clock   *serverClock
	audit   *auditor
	ledger  *ledger
	trace   *trace
	cover   *Coverage
	actors  sync.WaitGroup
	crew    sync.WaitGroup // workers
	meddler chan []string  // ids to cancel at once
	teaser  chan string    // ids to send a signal to at once
	running atomic.Bool    // load and faults go on
	closing atomic.Bool    // no more workers
	kinds   kinds

	mu        sync.Mutex
	failures  []string
	snoozes   map[string]int       // by job
	counts    map[string]int       // see times
	begun     map[string]time.Time // when the latest attempt began, by job
	workers   []*workerHost
	versatile *workerHost // serves every queue and kind
	ignorant  *workerHost // does not know one kind
	retired   []func()    // what closes the clients of hosts
	names     int
}

// logged is how many of the latest changes a report shows at the least.
var logged = 60

func newWorld(t testing.TB, cfg Config) *world {
	server, err := embedded.InProcess()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, cfg: cfg, server: server, ledger: newLedger(), trace: newTrace(logged), cover: &Coverage{},
		clock: &serverClock{server: server}, snoozes: map[string]int{}, counts: map[string]int{}, teaser: make(chan string, 3),
		begun: map[string]time.Time{}, meddler: make(chan []string, 3),
	}
	w.kernel = newKernel(func() { w.net.settle() })
	w.net = &network{k: w.kernel, server: server, seed: cfg.Seed, faults: cfg.Faults, trace: w.trace, cover: w.cover, fail: w.fail, paces: map[string]int{}, brisk: 1}
	if cfg.Large > 0 {
		w.net.brisk = 8
	}
	keys := newKeyspace(server.Miniredis(), queue.DefaultPrefix)
	w.audit = &auditor{
		keys: keys, ledger: w.ledger, cover: w.cover, clock: w.clock, fail: w.fail, note: w.trace.note,
		full: w.net.refuse.isFull, calm: cfg.Faults.Freeze == 0 && cfg.Faults.Slow == 0, tokens: map[string]string{}, calls: map[string]bool{},
	}
	w.net.judge, w.audit.meddle, w.audit.tease = w.audit.judge, w.meddle, w.tease
	if cfg.Driver == EngineDriver {
		w.audit.effects = func(id string) string {
			run, _, _ := strings.Cut(id, ".")
			count, _ := server.Miniredis().Get(fmt.Sprintf("%s:{%d}:tx:%s", queue.DefaultPrefix, int(runID(run))&(cfg.Partitions-1), id))
			return count
		}
	}
	server.Miniredis().Server().SetPreHook(w.net.refuse.hook)
	w.net.fillUp = w.fillUp
	w.kinds = w.newKinds()
	return w
}

// fail notes a violation.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%v: ", time.Since(w.trace.start)) + fmt.Sprintf(format, args...)
	w.failures = append(w.failures, text)
	w.running.Store(false)
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

// rng is an actor's dice.
func (w *world) rng(name string) *rand.Rand {
	return rand.New(rand.NewPCG(w.cfg.Seed, hashOf(w.cfg.Seed, []byte("actor"), []byte(name))))
}

// actor runs step after step, each after a pause of its own, while there is load.
// Pauses are exact to the nanosecond, so that no two actors meet.
func (w *world) actor(name string, mean time.Duration, step func(rng *rand.Rand)) {
	rng := w.rng(name)
	w.actors.Go(func() {
		for {
			rest(mean/4 + time.Duration(rng.Int64N(int64(mean*3/2))))
			if !w.running.Load() {
				return
			}
			step(rng)
		}
	})
}

// rest waits.
func rest(d time.Duration) { <-time.After(d) }

// newClient returns a client on a host.
func (w *world) newClient(h *host) *queue.Client {
	rdb := h.client(w.cfg.ClientRetries)
	c, err := queue.NewClient(rdb, queue.Config{
		Partitions: w.cfg.Partitions, ResendFor: 6 * time.Second, Dice: h.roll, Logger: slog.New(slog.DiscardHandler),
		DiscardedRetention: retention, CancelledRetention: retention, DiscardedMax: 30, FinishedMax: 30,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.retire(func() { closeAll(c, rdb) })
	return c
}

func closeAll(c *queue.Client, rdb *redis.Client) {
	_ = c.Close()
	_ = rdb.Close()
}

func (w *world) retire(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retired = append(w.retired, f)
}

// name returns a name that no other host has.
func (w *world) name(stem string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names++
	return stem + strconv.Itoa(w.names)
}

// someRun picks a run whose state is such, as far as is known, or now and then any.
func (w *world) someRun(rng *rand.Rand, such func(State) bool) (id cyclone.RunID, ok bool) {
	if rng.IntN(8) == 0 {
		such = func(State) bool { return true }
	}
	ids := slices.DeleteFunc(w.ledger.ids(such), func(id string) bool { return strings.Contains(id, ".") })
	if len(ids) == 0 {
		return 0, false
	}
	numbers := make([]int, len(ids))
	for i, id := range ids {
		numbers[i], _ = strconv.Atoi(id)
	}
	slices.Sort(numbers)
	return cyclone.RunID(numbers[rng.IntN(len(numbers))]), true
}
