package topology_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// site is a deployment on some topology.
type site struct {
	testing.TB
	options    func() *redis.UniversalOptions
	prefix     string
	partitions int
	env        map[string]string // as the command line reads it
	log        lines
	jobs       ledger
	client     *queue.Client
}

// open makes the site's own client and its deployment.
func (s *site) open() {
	s.Helper()
	s.Cleanup(func() {
		if s.Failed() {
			s.Logf("log:\n%s", s.log.String())
		}
	})
	s.client = s.newClient()
}

// newClient returns one more client, on connections of its own.
func (s *site) newClient() *queue.Client {
	s.Helper()
	o := s.options()
	// What these two would ask for are commands that an older server refuses: the
	// errors that the servers count are to be Cyclone's.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	rdb := redis.NewUniversalClient(o)
	s.Cleanup(func() { _ = rdb.Close() })
	c, err := queue.NewClient(rdb, queue.Config{Prefix: s.prefix, Partitions: s.partitions, Logger: s.logger()})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *site) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&s.log, nil)) }

// work runs two workers, each with a client of its own, until the function returned
// is called or the test ends.
func (s *site) work(lease time.Duration) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var crew sync.WaitGroup
	for range 2 {
		w, err := worker.New(s.newClient(), worker.Config{
			Queues: worker.Queues(queueNames...), Concurrency: 20, Lease: lease, Logger: s.logger(),
		})
		if err != nil {
			s.Fatal(err)
		}
		w.Register(s.jobs.handlers()...)
		crew.Go(func() {
			if err := w.Run(ctx); err != nil {
				s.Errorf("worker: %v", err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		crew.Wait()
	})
	s.Cleanup(stop)
	return stop
}

// patience is only ever used up by a failure.
const patience = 30 * time.Second

// until waits until cond returns nil.
func (s *site) until(what string, cond func() error) {
	s.Helper()
	deadline := time.After(patience)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := cond()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			s.Fatalf("not within %v: %s: %v", patience, what, err)
		case <-again.C:
		}
	}
}

// drained waits until nothing waits or runs in these queues.
func (s *site) drained(names ...string) {
	s.Helper()
	s.until("all has ended", func() error {
		infos, err := s.client.Queues(s.Context())
		if err != nil {
			return err
		}
		for _, q := range infos {
			for _, name := range names {
				if q.Name == name && q.Unfinished() > 0 {
					return fmt.Errorf("queue %s has %v", q.Name, q.Counts)
				}
			}
		}
		return nil
	})
}

// counts returns what a queue has by state.
func (s *site) counts(name string) map[cyclone.StepState]int64 {
	s.Helper()
	infos := must(s.client.Queues(s.Context()))(s)
	for _, q := range infos {
		if q.Name == name {
			return q.Counts
		}
	}
	return nil
}

// sound fails the test when what is stored does not fit together, or when it should
// not be there.
func (s *site) sound() {
	s.Helper()
	report := must(s.client.Audit(s.Context(), queue.AuditOptions{}))(s)
	for _, f := range report.Findings {
		s.Errorf("audit: %s: %s %s: %s", f.Rule, f.Key, f.Member, f.Text)
	}
	if report.Checked == 0 {
		s.Error("the audit has looked at nothing")
	}
	for _, word := range []string{"CROSSSLOT", "non local key", "panic"} {
		if strings.Contains(s.log.String(), word) {
			s.Errorf("the log has %q", word)
		}
	}
}

// cli runs a command line that has to succeed and returns what it printed.
func (s *site) cli(args ...string) string {
	s.Helper()
	var out, err bytes.Buffer
	lookup := func(name string) (string, bool) { v, ok := s.env[name]; return v, ok }
	code := cli.Run(s.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err, LookupEnv: lookup}, args...)
	if code != cli.ExitOK {
		s.Fatalf("cyclone %q: exit %d\n%s%s", args, code, out.String(), err.String())
	}
	return out.String()
}

// cliJSON decodes the one object that a command prints.
func cliJSON[T any](s *site, args ...string) (v T) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.cli(append(args, "--json")...)), &v); err != nil {
		s.Fatalf("cyclone %q: %v", args, err)
	}
	return v
}

// must returns a value, or fails the test with the error that came with it.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
