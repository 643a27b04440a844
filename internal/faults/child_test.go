package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// childVariable makes the test binary run as a worker process.
const childVariable = "CYCLONE_FAULTS_CHILD"

// childConfig is what a worker process is told.
type childConfig struct {
	Addr, Prefix     string
	Lease, Heartbeat time.Duration
	Grace            time.Duration
	Concurrency      int
	ReadTimeout      time.Duration
}

// work is the input of every step.
type work struct {
	Key   string        `json:"key"`
	Takes time.Duration `json:"takes"`
	Fails int           `json:"fails"` // how many attempts fail
	Naps  bool          `json:"naps"`  // snooze once, by the first execution in this process
	Hold  string        `json:"hold"`  // wait for a Redis key, see holdKey
}

// line is what a child writes to its standard output.
type line struct {
	Event   string        `json:"event"` // ready, start, over (see hold), end; ran and have: of a recorded step
	RunID   cyclone.RunID `json:"run"`
	Node    string        `json:"node,omitempty"`
	Key     string        `json:"key,omitempty"`
	Attempt int           `json:"attempt"`
	Error   string        `json:"error,omitempty"`
	Cause   string        `json:"cause,omitempty"`
	At      time.Time     `json:"at"`

	// Of runs of many steps: which of the process's executions this is, and what
	// became of which recorded step.
	Execution int64  `json:"execution,omitempty"`
	Step      int    `json:"step,omitempty"`
	Value     string `json:"value,omitempty"`
	Replayed  bool   `json:"replayed,omitempty"`
}

// child is a worker process.
type child struct {
	mu    sync.Mutex
	out   *json.Encoder
	naps  sync.Map
	plain *redis.Client
}

func (c *child) tell(ctx cyclone.Context, event string, in work, err error) {
	l := line{Event: event, RunID: ctx.RunID(), Key: in.Key, Attempt: ctx.Attempt(), At: time.Now()}
	if err != nil {
		l.Error = err.Error()
	}
	if cause := context.Cause(ctx); cause != nil {
		l.Cause = cause.Error()
	}
	c.write(l)
}

func (c *child) write(l line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(l) // one write; nobody reads when the parent is gone
}

// handle is the handler of every kind.
func (c *child) handle(ctx cyclone.Context, in work) error {
	c.tell(ctx, "start", in, nil)
	err := c.work(ctx, in)
	c.tell(ctx, "end", in, err)
	return err
}

// holdKey is the key that one process waits for.
func holdKey(hold string, pid int) string { return fmt.Sprint(hold, ":", pid) }

var errAsked = errors.New("failure that was asked for")

func (c *child) work(ctx cyclone.Context, in work) error {
	if in.Takes > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(in.Takes):
		}
	}
	if in.Hold != "" {
		c.hold(ctx, in)
	}
	if in.Naps {
		if _, napped := c.naps.LoadOrStore(ctx.RunID(), true); !napped {
			return cyclone.Snooze(20 * time.Millisecond)
		}
	}
	if ctx.Attempt() <= in.Fails {
		return errAsked
	}
	return nil
}

// hold waits for the process's key, whatever becomes of the attempt, and tells when that is
// over.
func (c *child) hold(ctx cyclone.Context, in work) {
	done := ctx.Done()
	for c.plain.Exists(context.Background(), holdKey(in.Hold, os.Getpid())).Val() == 0 {
		select {
		case <-done:
			c.tell(ctx, "over", in, nil)
			done = nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// effectsOf is the list that completion transactions append to.
func effectsOf(prefix string) string { return "effects:" + prefix }

// definitions are what children run. Delays are short, and no limit of attempts
// or lost workers is reached by a test's faults.
func definitions(action func(cyclone.Context, work) error, task func(cyclone.Context, work) (string, error)) []cyclone.Definition {
	short := cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 50, Delays: []time.Duration{20 * time.Millisecond}})
	return []cyclone.Definition{
		cyclone.NewAction("job", action, short, cyclone.WithLostCap(1000)),
		cyclone.NewTask("task", cyclone.HandlerFunc(task), short, cyclone.WithLostCap(1000), cyclone.WithRetention(time.Minute)),
	}
}

// runChild runs a worker until SIGTERM or until its parent is gone.
func runChild(text string) error {
	var cfg childConfig
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&cfg); err != nil {
		return err
	}
	options := &redis.Options{Addr: cfg.Addr, ReadTimeout: cfg.ReadTimeout}
	rdb := redis.NewClient(options)
	defer func() { _ = rdb.Close() }()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	client, err := queue.NewClient(rdb, queue.Config{Prefix: cfg.Prefix, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	w, err := worker.New(client, worker.Config{
		Lease: cfg.Lease, Heartbeat: cfg.Heartbeat, ShutdownGrace: cfg.Grace, Concurrency: cfg.Concurrency, Logger: logger,
	})
	if err != nil {
		return err
	}
	c := &child{out: json.NewEncoder(os.Stdout), plain: rdb}
	w.Register(definitions(c.handle, func(ctx cyclone.Context, in work) (string, error) { return in.Key, c.handle(ctx, in) })...)
	w.Register((&stages{child: c, effects: effectsOf(cfg.Prefix)}).definitions()...)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	_ = c.out.Encode(line{Event: "ready"})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	if err := w.Run(ctx); err != nil {
		return fmt.Errorf("worker %s: %w", w.ID(), err)
	}
	return nil
}
