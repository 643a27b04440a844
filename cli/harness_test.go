package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// TestMain makes the test binary the program when it is called like it: the demo's
// other process is this binary too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "demo" && os.Args[2] == "worker" {
		os.Exit(Main())
	}
	redis.SetLogger(silentLogger{}) // servers that are not there are part of the tests
	testserver.Run(m)
}

// env is an environment.
type env map[string]string

func (e env) lookup(name string) (string, bool) {
	v, ok := e[name]
	return v, ok
}

// on is the environment that names a test's deployment.
func on(s testserver.Server) env {
	return env{"CYCLONE_REDIS": s.URL, "CYCLONE_PREFIX": s.Prefix}
}

// with returns a copy with more variables.
func (e env) with(pairs ...string) env {
	e = maps.Clone(e)
	for pair := range slices.Chunk(pairs, 2) {
		e[pair[0]] = pair[1]
	}
	return e
}

// result is what a run of the program came to.
type result struct {
	code     int
	out, err string
}

// run runs a command line.
func (e env) run(t testing.TB, args ...string) result {
	t.Helper()
	return e.runWith(t.Context(), strings.NewReader(""), args...)
}

func (e env) runWith(ctx context.Context, in io.Reader, args ...string) result {
	var out, err bytes.Buffer
	code := Run(ctx, Streams{In: in, Out: &out, Err: &err, LookupEnv: e.lookup}, args...)
	return result{code, out.String(), err.String()}
}

// ok is run for a command that must succeed; it returns what it printed.
func (e env) ok(t testing.TB, args ...string) string {
	t.Helper()
	r := e.run(t, args...)
	if r.code != ExitOK {
		t.Fatalf("%q: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// fails is run for a command that must fail with a code and say certain things.
func (e env) fails(t testing.TB, code int, says string, args ...string) result {
	t.Helper()
	r := e.run(t, args...)
	if r.code != code || !strings.Contains(r.err, says) {
		t.Errorf("%q: exit %d, want %d with %q\n%s%s", args, r.code, code, says, r.out, r.err)
	}
	return r
}

// read decodes the one object that a command prints.
func read[T any](t testing.TB, text string) T {
	t.Helper()
	all := readLines[T](t, text)
	if len(all) != 1 {
		t.Fatalf("%d objects in %q", len(all), text)
	}
	return all[0]
}

func readLines[T any](t testing.TB, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, v)
	}
	return all
}

// client is the library's client on the test's deployment.
func client(t testing.TB, s testserver.Server) *queue.Client {
	t.Helper()
	c, err := queue.NewClient(s.Client, queue.Config{Prefix: s.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// work runs a worker until until returns true, which is asked after each event.
func work(t testing.TB, c *queue.Client, until func(cyclone.StepEvent) bool, defs ...cyclone.Definition) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	sub, err := c.Subscribe(ctx, queue.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Close() }()
	w, err := worker.New(c, worker.Config{
		Concurrency: 1, // one after the other, so that what is listed by its end has one order
		Queues:      worker.Queues("mail", "imports", "slow"), Lease: time.Second, ShutdownGrace: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Register(defs...)
	done := make(chan error, 1)
	working, stop := context.WithCancel(ctx)
	defer stop()
	go func() { done <- w.Run(working) }()
	for e, err := range sub.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if until(e) {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// after is an until that counts events of some types.
func after(n int, types ...cyclone.EventType) func(cyclone.StepEvent) bool {
	return func(e cyclone.StepEvent) bool {
		if slices.Contains(types, e.Type) {
			n--
		}
		return n <= 0
	}
}

// must returns v.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
