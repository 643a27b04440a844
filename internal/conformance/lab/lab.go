package lab

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
)

// Lab is a deployment that one test has to itself.
type Lab struct {
	testing.TB

	// Server is the kind of server, as testserver names it.
	Server string
	// Virtual tells that time is the bubble's.
	Virtual bool
	// Prefix is that of the deployment's keys.
	Prefix string
	// Redis is a client to look and to interfere with.
	Redis *redis.Client
	// Embedded is the embedded server; nil on real ones.
	Embedded *embedded.Server
	// Log has what clients and workers logged.
	Log *Log

	options func() *redis.Options
	config  queue.Config
	client  *queue.Client
	once    sync.Once
	onEvent []cyclone.ClientOption
}

// Option changes a lab.
type Option func(*Lab)

// Configure sets what the lab's clients are configured with; prefix and logger
// are the lab's.
func Configure(c queue.Config) Option { return func(l *Lab) { l.config = c } }

// OnEvent has every client of the lab call fn on its process's events.
func OnEvent(fn func(cyclone.StepEvent)) Option {
	return func(l *Lab) { l.onEvent = append(l.onEvent, cyclone.WithOnStepEvent(fn)) }
}

// Each runs f on every kind of server, in parallel with other tests: in real time
// on real servers, and in a bubble on the embedded one.
func Each(t *testing.T, f func(l *Lab), opts ...Option) {
	t.Helper()
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		t.Parallel()
		if s.Embedded != nil {
			BubbleAlone(t, f, opts...)
			return
		}
		f(New(t, s, opts...))
	})
}

// Bubble runs f with virtual time on an in-process server.
func Bubble(t *testing.T, f func(l *Lab), opts ...Option) {
	t.Helper()
	t.Parallel()
	BubbleAlone(t, f, opts...)
}

// BubbleAlone is Bubble beside no other test, for one that changes the process.
func BubbleAlone(t *testing.T, f func(l *Lab), opts ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := embedded.InProcess()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		// A pool of go-redis that could not dial notices only after a second that it is closed.
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		l := &Lab{TB: t, Server: testserver.Miniredis, Virtual: true, Prefix: "cyclone", Embedded: e, options: roomy(e)}
		l.init(opts)
		f(l)
	})
}

// roomy returns options of a pool in which nobody waits for a connection: go-redis
// shares the timers of those who wait between bubbles, which ends the process.
func roomy(e *embedded.Server) func() *redis.Options {
	return func() *redis.Options {
		o := e.Options()
		o.PoolSize = 2000
		return o
	}
}

// New returns a lab on the given server.
func New(t testing.TB, s testserver.Server, opts ...Option) *Lab {
	t.Helper()
	l := &Lab{TB: t, Server: s.Name, Prefix: s.Prefix, Embedded: s.Embedded, options: s.Options}
	l.init(opts)
	return l
}

func (l *Lab) init(opts []Option) {
	l.Log = newLog(l.TB)
	for _, opt := range opts {
		opt(l)
	}
	l.Redis = redis.NewClient(l.options())
	l.Cleanup(func() { _ = l.Redis.Close() })
	l.Cleanup(l.MustAgree) // when workers and clients have stopped
}

// Config returns what the lab's clients are configured with.
func (l *Lab) Config() queue.Config { return l.config }

// Client returns the lab's own client, which enqueues and operates.
func (l *Lab) Client() *queue.Client {
	l.Helper()
	l.once.Do(func() { l.client, _, _ = l.NewClient(l.config) })
	return l.client
}

// NewClient returns one more client, the one of go-redis under it, and the plug
// that the connections go through.
func (l *Lab) NewClient(cfg queue.Config) (*queue.Client, *redis.Client, *Plug) {
	l.Helper()
	o := l.options()
	plug := newPlug(o)
	rdb := redis.NewClient(o)
	l.Cleanup(func() { _ = rdb.Close() })
	cfg.Prefix = l.Prefix
	cfg.Logger = l.Logger()
	c, err := queue.NewClient(rdb, cfg, l.onEvent...)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = c.Close() })
	return c, rdb, plug
}

// Logger returns a logger that writes to Log.
func (l *Lab) Logger() *slog.Logger { return slog.New(l.Log) }

// Context returns a context that ends with the test.
func (l *Lab) Context() context.Context { return l.TB.Context() }

// patience is how long a test waits for what must come: long, since it is only
// ever used up by a failure.
const patience = 20 * time.Second

// Until waits until cond holds.
func (l *Lab) Until(what string, cond func() bool) {
	l.Helper()
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; !cond(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("not within %v: %s", patience, what)
		}
		<-time.After(pause)
	}
}

// Pass lets virtual time pass, and what it brings happen.
func (l *Lab) Pass(d time.Duration) {
	l.Helper()
	if !l.Virtual {
		l.Fatal("lab: only virtual time can be passed")
	}
	time.Sleep(d)
	synctest.Wait()
}

// Now is Redis' time.
func (l *Lab) Now() time.Time {
	l.Helper()
	now, err := l.Redis.Time(context.Background()).Result()
	if err != nil {
		l.Fatal(err)
	}
	return now
}
