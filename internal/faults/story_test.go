package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// story is a sequence of calls that uses every script several times and whose
// results do not depend on time or luck.
type story struct {
	t      *testing.T
	client *queue.Client
	worker *worker.Worker

	mu    sync.Mutex
	lines []string         // what each call returned
	tries map[string][]int // attempts by the step's key
}

var (
	storyJob  = cyclone.DeclareAction[string]("job")
	storyTask = cyclone.DeclareTask[string, string]("task")
)

// tell runs a whole story on the server at addr and returns what came of it.
func tell(t *testing.T, addr, prefix string, retries int) []string {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: retries})
	defer func() { _ = rdb.Close() }()
	logger := slog.New(slog.DiscardHandler)
	client, err := queue.NewClient(rdb, queue.Config{Prefix: prefix, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	s := &story{t: t, client: client, tries: make(map[string][]int)}
	s.worker, err = worker.New(client, worker.Config{Logger: logger, Lease: 30 * time.Second, Heartbeat: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.worker.Register(
		cyclone.NewAction("job", s.handle, cyclone.WithBackoff(func(int) time.Duration { return 0 })),
		cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, key string) (string, error) {
			return "output of " + key, s.handle(ctx, key)
		})))
	s.act()
	return s.lines
}

// handle does what the first word of the key says.
func (s *story) handle(ctx cyclone.Context, key string) error {
	s.mu.Lock()
	s.tries[key] = append(s.tries[key], ctx.Attempt())
	n := len(s.tries[key])
	s.mu.Unlock()
	switch verb, _, _ := strings.Cut(key, " "); {
	case verb == "fail" && n == 1:
		return errAsked
	case verb == "nap" && n == 1:
		return cyclone.Snooze(time.Millisecond)
	case verb == "discard" && n == 1:
		return cyclone.Permanent(errAsked)
	case verb == "long":
		<-time.After(350 * time.Millisecond) // over some heartbeats
	}
	return nil
}

// say writes down what a call returned.
func (s *story) say(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.lines = append(s.lines, what)
		return
	}
	known := err.Error()
	for _, e := range []error{queue.ErrFinished, cyclone.ErrNotFound, cyclone.ErrNotDiscarded} {
		if errors.Is(err, e) {
			known = e.Error()
		}
	}
	var duplicate *cyclone.DuplicateError
	if errors.As(err, &duplicate) {
		known = "duplicate"
	}
	s.lines = append(s.lines, what+": "+known)
}

// enqueue enqueues one step.
func (s *story) enqueue(r cyclone.Request) cyclone.RunID {
	receipts, err := s.client.Enqueue(context.Background(), r)
	if err != nil {
		s.say("enqueue", err)
		return 0
	}
	s.say(fmt.Sprintf("enqueued, existing %v", receipts[0].Existing), nil)
	return receipts[0].ID
}

// until waits for a state; "" is a step that is gone.
func (s *story) until(id cyclone.RunID, node string, want cyclone.StepState) {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		// A look that fails is the caller's to repeat: it changes nothing.
		detail, err := s.client.Step(context.Background(), id, node)
		if err == nil && detail.State == want || want == "" && errors.Is(err, cyclone.ErrNotFound) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("run %v is %q (%v), want %q", id, detail.State, err, want)
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

// act plays the story.
func (s *story) act() {
	s.t.Helper()
	ctx, c := context.Background(), s.client
	hour := cyclone.WithDelay(time.Hour)
	unique := func(on cyclone.Conflict) cyclone.EnqueueOption {
		return cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: on})
	}
	for n := range 3 { // every call several times
		s.enqueue(storyJob.With("ok", unique(cyclone.Existing), cyclone.WithQueue("held")))
		s.enqueue(storyJob.With("ok", unique(cyclone.Reject), cyclone.WithQueue("held")))
		s.enqueue(storyJob.With("ok", unique(cyclone.Replace), cyclone.WithQueue("held")))
		s.say("pause", c.Pause(ctx, "default"))
		var batch []cyclone.Request
		for i := range 5 {
			batch = append(batch, storyJob.With(fmt.Sprintf("ok %d.%d", n, i)))
		}
		_, err := c.Enqueue(ctx, batch...)
		s.say("enqueue five", err)
		s.say("resume", c.Resume(ctx, "default"))
		if n == 0 {
			work, stop := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- s.worker.Run(work) }()
			defer func() {
				stop()
				s.say("run", <-done)
				s.finish()
			}()
		}
		for _, verb := range []string{"fail", "nap", "long"} {
			s.until(s.enqueue(storyJob.With(fmt.Sprint(verb, " ", n))), "job", "")
		}
		task := s.enqueue(storyTask.With(fmt.Sprint("task ", n), cyclone.WithRetention(time.Millisecond)))
		discarded := s.enqueue(storyJob.With(fmt.Sprint("discard ", n)))
		s.until(discarded, "job", cyclone.StepExhausted)
		s.say("retry", c.Retry(ctx, discarded, "job", cyclone.RetryReason("again")))
		s.until(discarded, "job", "")
		later := s.enqueue(storyJob.With(fmt.Sprint("later ", n), hour))
		s.say("reschedule", c.Reschedule(ctx, later, time.Now().Add(2*time.Hour)))
		s.say("run now", c.RunNow(ctx, later))
		s.until(later, "job", "")
		cancelled := s.enqueue(storyJob.With(fmt.Sprint("cancel ", n), hour))
		s.say("cancel", c.Cancel(ctx, cancelled))
		s.say("cancel again", c.Cancel(ctx, cancelled))
		s.say("delete", c.Delete(ctx, cancelled))
		s.say("delete again", c.Delete(ctx, cancelled))
		progress, err := c.Purge(ctx, "held", nil)
		s.say(fmt.Sprintf("purged %d", progress.Done), err)
		s.until(task, "task", cyclone.StepCompleted)
	}
	s.clean("default", "held")
}

// clean does the maintenance of some minutes. A round that fails is made up for by the
// next ones.
func (s *story) clean(queues ...string) {
	keeper := queue.NewStore(s.client, "wkeeper")
	for rounds := 0; rounds < 12; {
		if err := keeper.Maintain(context.Background(), queues, 30*time.Second); err == nil {
			rounds++
		}
	}
}

// finish adds what can be counted.
func (s *story) finish() {
	s.t.Helper()
	stats, err := s.client.Stats(context.Background(), 1)
	if err != nil {
		s.t.Errorf("Stats: %v", err)
	}
	delete(stats.Totals, cyclone.EventSuspended) // a short time may pass before its wait begins
	delete(stats.Totals, "unblocked")            // a node that comes back may find that all before it has ended
	for _, verb := range slices.Sorted(maps.Keys(stats.Totals)) {
		s.lines = append(s.lines, fmt.Sprintf("%d %s", stats.Totals[verb], verb))
	}
	for _, key := range slices.Sorted(maps.Keys(s.tries)) {
		s.lines = append(s.lines, fmt.Sprintf("%s: attempts %v", key, s.tries[key]))
	}
	report, err := s.client.Audit(context.Background(), queue.AuditOptions{})
	s.say(fmt.Sprintf("%d steps are left, findings %v", report.Steps, report.Findings), err)
}
