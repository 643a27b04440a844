package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// Ctx is context.Context, named so that the signature of [Middleware] fits a line.
type Ctx = context.Context

// ErrRunning is returned by Run when the worker runs already or has run: make a
// new one.
var ErrRunning = errors.New("worker: it runs, or has run, already")

// Worker claims and runs steps. Make one with [New], register definitions, and
// call Run; it runs once. Its methods are safe for concurrent use.
type Worker struct {
	client *queue.Client
	store  *queue.Store
	cfg    Config
	id     string
	kinds  map[string]*kind

	base context.Context // of every attempt: the values of Run's context, never done
	hard context.Context // done when the worker gives up what it could not store

	mu       sync.Mutex
	turnable *sync.Cond // a turner may have something to do
	running  bool
	stopping bool           // no more claims
	ended    bool           // no more turns
	free     int            // slots without an attempt or a claim under way
	inQueue  map[string]int // steps held, while some queue has a cap
	parts    []*partition
	nextPart int
	attempts attemptList
	unbegun  *attempt // the first of attempts that has not begun, as have none after it
	spawning bool     // a goroutine for them is about to run
	turns    uint64
	health   health
	acks     acker
	unstored int            // settlements on their way by an outbox
	withheld int            // slots that are free once those are fewer
	wg       sync.WaitGroup // turners
}

// New returns a worker on the client, which stays the caller's to close. The
// error names every bad field of cfg, and every malformed ENGINE__RETRY__*
// variable.
func New(client *queue.Client, cfg Config) (*Worker, error) {
	if client == nil {
		return nil, errors.New("worker: New needs a client")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Worker{
		client: client, cfg: cfg, id: newID(), kinds: make(map[string]*kind),
		free: cfg.Concurrency, inQueue: make(map[string]int, len(cfg.Queues)),
	}
	w.store = queue.NewStore(client, w.id)
	w.turnable = sync.NewCond(&w.mu)
	w.acks.worker = w
	w.registerBuiltin()
	return w, nil
}

// newID returns a short random id, which the tokens of this worker begin with.
func newID() string { return "w" + strings.ToLower(rand.Text()[:7]) }

// ID is the worker's id, as tokens, events and the CLI show it.
func (w *Worker) ID() string { return w.id }

// Run claims and runs steps until ctx is done, then stops softly: it claims no
// more, waits for running attempts up to Config.ShutdownGrace, cancels the rest
// with [cyclone.ErrShutdown], stores what finished and gives back what did not,
// without counting an attempt. It waits for Redis if it is not there yet.
//
// It returns nil after a soft stop, or an error when the deployment does not
// agree with the client's configuration, or when handlers did not return.
func (w *Worker) Run(ctx context.Context) error {
	w.mu.Lock()
	if w.running {
		w.mu.Unlock()
		return ErrRunning
	}
	w.running = true
	w.health.started = time.Now()
	w.mu.Unlock()

	n, err := w.connect(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	// What must outlast the soft stop lives in hard.
	hard, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	w.start(ctx, hard, n)
	background, stopBackground := context.WithCancel(hard)
	defer stopBackground()
	var duties sync.WaitGroup
	ready := make(chan struct{})
	duties.Go(func() { w.listen(background, ready) })
	duties.Go(func() { w.maintain(background) })
	beats, stopBeats := context.WithCancel(hard)
	defer stopBeats()
	duties.Go(func() { w.heartbeats(beats) })

	// Work that comes while nobody listens would wait for the fallback.
	select {
	case <-ready:
	case <-ctx.Done():
	case <-time.After(w.cfg.Fallback):
	}
	// The lease's length is known before the first claim: maintenance clamps by it.
	w.renew(hard)
	for range turners {
		w.wg.Go(func() { w.turner(hard) })
	}
	<-ctx.Done()
	err = w.shutdown(hard, end)
	stopBackground()
	stopBeats()
	duties.Wait()
	w.leave(hard)
	return err
}

// connect waits until the deployment can be joined and returns the number of its
// partitions. It gives up only on what waiting does not mend.
func (w *Worker) connect(ctx context.Context) (int, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		n, err := w.store.Partitions(ctx)
		if err == nil {
			return n, nil
		}
		if ctx.Err() != nil {
			return 0, nil
		}
		if !queue.Passing(err) {
			return 0, err
		}
		w.trouble("connect", err)
		if !sleep(ctx, w.jittered(pause)) {
			return 0, nil
		}
	}
}

// start prepares the state that depends on the deployment.
func (w *Worker) start(ctx, hard context.Context, partitions int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base, w.hard = context.WithoutCancel(ctx), hard
	for number := range partitions {
		p := &partition{number: number, worker: w, look: true}
		p.advances = outbox{part: p, send: p.advance}
		p.pauses = outbox{part: p, send: p.suspend}
		p.records.part = p
		w.parts = append(w.parts, p)
	}
}
