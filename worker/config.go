package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// The defaults of a [Config].
const (
	DefaultConcurrency   = 100
	DefaultLease         = 30 * time.Second
	DefaultHeartbeat     = 10 * time.Second
	DefaultShutdownGrace = 20 * time.Second
	DefaultFallback      = time.Second
)

// maxConcurrency bounds the attempts of one worker; more than this is a typing
// error rather than a wish.
const maxConcurrency = 100_000

// Queue is one queue that a worker serves.
type Queue struct {
	// Name is the queue's name.
	Name string
	// Weight is the queue's share of the claims while several have work, default 1.
	// With Config.Strict it must be 0.
	Weight int
	// Max limits how many steps of this queue the worker runs at once, 0 for no
	// limit of its own.
	Max int
}

// Queues returns queues of equal weight, or in strict order with Config.Strict.
func Queues(names ...string) []Queue {
	queues := make([]Queue, len(names))
	for i, name := range names {
		queues[i] = Queue{Name: name}
	}
	return queues
}

// Middleware wraps every attempt, the first entry of Config.Middleware outermost.
// It calls next at most once, with a context derived from ctx, and returns next's
// error or its own: either decides about the step like a handler's.
type Middleware func(ctx cyclone.Context, next func(ctx Ctx) error) error

// Config configures a [Worker]. The zero value works: the queue "default", 100
// attempts at once.
type Config struct {
	// Queues are served by their weights; the zero value serves "default".
	Queues []Queue
	// Strict serves the queues in their order: a later one only when the earlier
	// ones are empty.
	Strict bool
	// Concurrency is how many attempts run at once, default 100.
	Concurrency int
	// Lease is how long a claim holds unless it is renewed, default 30 s; at least
	// 1 s. Heartbeat is how often all leases are renewed, default 10 s or a third
	// of Lease; at most half of it.
	Lease, Heartbeat time.Duration
	// ShutdownGrace is how long running attempts may go on after Run's context is
	// done, default 20 s. Then their contexts end with [cyclone.ErrShutdown].
	ShutdownGrace time.Duration
	// Timeout limits an attempt whose definition and enqueue say nothing, default
	// none: it runs as long as its worker lives.
	Timeout time.Duration
	// Retry is the policy of definitions that have none. Without it, tasks take
	// theirs from ENGINE__RETRY__MAX_ATTEMPTS, ENGINE__RETRY__DELAYS and
	// ENGINE__RETRY__JITTER, which New reads, and everything else has the defaults
	// of package retry.
	Retry cyclone.RetryPolicy
	// Middleware wraps every attempt.
	Middleware []Middleware
	// OnFailure is called after every failed attempt and every discard, before the
	// outcome is stored; for error trackers. It must return quickly. ctx is nil when
	// a step is discarded without an attempt.
	OnFailure func(ctx cyclone.Context, f Failure)
	// Fallback is how often an idle worker asks for work although nobody woke it,
	// default 1 s, give or take a fifth.
	Fallback time.Duration
	// Logger is the base of the attempts' loggers, default slog.Default().
	Logger *slog.Logger
	// Dice returns numbers from 0 to below 1, which spread pauses and retries and
	// share claims among queues; default math/rand/v2. A test that has to go alike
	// each time gives its own. It is called from any goroutine.
	Dice func() float64

	capped     bool // some queue has a Max
	jitter     float64
	taskPolicy cyclone.RetryPolicy
}

// Failure is what an attempt failed with, or why a step was discarded.
type Failure struct {
	RunID cyclone.RunID
	Kind  string
	Queue string
	// Attempt is the ordinal of the attempt.
	Attempt int
	// Err is the handler's error, Code its class; Stack is there after a panic.
	Err   error
	Code  string
	Stack string
	// Discarded tells that the step is not tried again; otherwise Delay is the
	// wait before its next attempt.
	Discarded bool
	Delay     time.Duration
}

// withDefaults fills zero fields and returns one error that names every bad one.
func (c Config) withDefaults() (Config, error) {
	var bad []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	if len(c.Queues) == 0 {
		c.Queues = Queues(wire.DefaultQueue)
	}
	c.Queues = append([]Queue(nil), c.Queues...)
	seen := map[string]bool{}
	for i := range c.Queues {
		q := &c.Queues[i]
		if err := wire.CheckName(fmt.Sprintf("Queues[%d].Name", i), q.Name); err != nil {
			bad = append(bad, err)
		}
		check(!seen[q.Name], "Queues[%d].Name is %q: it is there twice", i, q.Name)
		seen[q.Name] = true
		check(q.Weight >= 0 && q.Weight <= 1000, "Queues[%d].Weight is %d: must be 0 to 1000", i, q.Weight)
		check(!c.Strict || q.Weight == 0, "Queues[%d].Weight is %d: Strict and weights exclude each other", i, q.Weight)
		check(q.Max >= 0, "Queues[%d].Max is %d: must not be negative", i, q.Max)
		q.Weight = max(q.Weight, 1)
		c.capped = c.capped || q.Max > 0
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	check(c.Concurrency > 0 && c.Concurrency <= maxConcurrency, "Concurrency is %d: must be 1 to %d", c.Concurrency, maxConcurrency)
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = min(DefaultHeartbeat, c.Lease/3)
	}
	if c.ShutdownGrace == 0 {
		c.ShutdownGrace = DefaultShutdownGrace
	}
	if c.Fallback == 0 {
		c.Fallback = DefaultFallback
	}
	check(c.Lease >= time.Second && c.Lease <= 24*time.Hour, "Lease is %v: must be 1s to 24h", c.Lease)
	check(c.Heartbeat >= 100*time.Millisecond && c.Heartbeat <= c.Lease/2, "Heartbeat is %v: must be 100ms to half of Lease (%v)", c.Heartbeat, c.Lease/2)
	check(c.ShutdownGrace > 0, "ShutdownGrace is %v: must be above zero", c.ShutdownGrace)
	check(c.Timeout >= 0, "Timeout is %v: must not be negative", c.Timeout)
	check(c.Fallback >= 10*time.Millisecond, "Fallback is %v: must be at least 10ms", c.Fallback)
	if err := c.Retry.Validate(); err != nil {
		check(false, "Retry: %w", err)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Dice == nil {
		c.Dice = rand.Float64
	}
	bad = append(bad, c.readEnvironment())
	if err := errors.Join(bad...); err != nil {
		return Config{}, fmt.Errorf("worker: config: %w", err)
	}
	return c, nil
}

// readEnvironment sets the tasks' default policy. A malformed variable is an
// error even when the config has a policy: it would be one on the next change.
func (c *Config) readEnvironment() error {
	policy, jitter, set, err := retry.FromEnv(os.LookupEnv)
	if err != nil {
		return err
	}
	c.jitter, c.taskPolicy = retry.DefaultJitter, c.Retry
	if c.Retry.MaxAttempts == 0 && len(c.Retry.Delays) == 0 {
		c.taskPolicy = policy
		if set {
			c.jitter = jitter
		}
	}
	return nil
}
