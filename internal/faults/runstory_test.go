package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// runScripts are the scripts of which runs of many steps and tasks make use.
var runScripts = []*luascripts.Script{
	luascripts.Build, luascripts.Advance, luascripts.Record, luascripts.Take,
	luascripts.Suspend, luascripts.Signal, luascripts.Sweep, luascripts.Forget,
}

// runRounds is how often the story of runs makes each of its calls.
const runRounds = 8

// runStory is the story of runs of many steps.
type runStory struct {
	*story

	part   *cyclone.Step[string, int]
	sum    *cyclone.Step[[]int, int]
	taking *cyclone.Task[string, string]
}

// tellRuns runs a whole story of runs of many steps on the server at addr and returns
// what came of it.
func tellRuns(t *testing.T, addr, prefix string, retries int) []string {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: retries})
	defer func() { _ = rdb.Close() }()
	logger := slog.New(slog.DiscardHandler)
	client, err := queue.NewClient(rdb, queue.Config{Prefix: prefix, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	s := &runStory{story: &story{t: t, client: client, tries: make(map[string][]int)}}
	s.worker, err = worker.New(client, worker.Config{Logger: logger, Lease: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	soon := cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Millisecond}})
	s.part = cyclone.NewStep("part", func(ctx cyclone.Context, key string) (int, error) {
		err := ctx.CompletionTx().ListPush("effects of "+prefix, key)
		return 1, errors.Join(err, s.handle(ctx, key))
	}, soon)
	s.sum = cyclone.NewStep("sum", func(_ context.Context, all []int) (int, error) { return len(all), nil }, soon)
	s.taking = cyclone.NewTask("task", cyclone.HandlerFunc(s.task), soon)
	s.worker.Register(s.part, s.sum, s.taking)

	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.worker.Run(ctx) }()
	for n := range runRounds {
		s.round(n)
	}
	stop()
	s.say("run", <-done)
	s.clean("default")
	effects := rdb.LLen(context.Background(), "effects of "+prefix)
	s.say(fmt.Sprintf("%d effects", effects.Val()), effects.Err())
	s.finish()
	return s.lines
}

// task records steps, one of which fails once, waits for a signal that comes and for
// one that does not, sleeps and has child runs of one step and of many.
func (s *runStory) task(ctx cyclone.Context, key string) (string, error) {
	note := func(name string, fails int) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.tries[name+" of "+key] = append(s.tries[name+" of "+key], ctx.Attempt())
			if len(s.tries[name+" of "+key]) <= fails {
				return "", errAsked
			}
			return name, nil
		}
	}
	first, err := step.Do(ctx, "first", note("first", 0))
	if err != nil {
		return "", err
	}
	second, err := step.Do(ctx, "second", note("second", 1))
	if err != nil {
		return "", err
	}
	word, err := step.WaitSignal[string](ctx, "word", 0)
	if err != nil {
		return "", err
	}
	if err := step.Sleep(ctx, "sleep", time.Millisecond); err != nil {
		return "", err
	}
	if _, err := step.WaitSignal[string](ctx, "silence", time.Millisecond); !errors.Is(err, step.ErrTimeout) {
		return "", cyclone.Permanent(fmt.Errorf("got %w, want a timeout", err))
	}
	n, err := step.Run(ctx, "child", s.part, "child of "+key)
	if err != nil {
		return "", err
	}
	b := workflow.New("inner")
	before := workflow.Run(b, "before", s.part, workflow.Value("first of "+key))
	m, err := workflow.RunChildFor(ctx, "inner", workflow.Run(b, "after", s.part, workflow.Value("second of "+key), workflow.After(before)))
	return fmt.Sprint(first, second, word, n+m), err
}

// round makes each call once.
func (s *runStory) round(n int) {
	s.t.Helper()
	s.passes(n)
	s.fails(n)
	s.isCancelled(n)
	s.isForgotten(n)
}

// enqueueRun enqueues a run and tells whether it was there.
func (s *runStory) enqueueRun(result workflow.Ref[int]) cyclone.RunID {
	s.t.Helper()
	run, err := workflow.EnqueueFor(context.Background(), s.client, result)
	if err != nil {
		s.say("enqueue a run", err)
		return 0
	}
	s.say(fmt.Sprintf("enqueued a run, existing %v", run.Existing()), nil)
	return run.ID()
}

func (s *runStory) wait(id cyclone.RunID) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := cyclone.AttachOf[int](s.client, id).Wait(ctx)
	s.say(fmt.Sprintf("returned %d", out), err)
}

func (s *runStory) delete(id cyclone.RunID) {
	ctx := context.Background()
	s.say("delete", s.client.Delete(ctx, id))
	s.say("delete again", s.client.Delete(ctx, id))
}

// passes is a run with a task, a wait, and more nodes behind one than are released at
// once. Signals come before the wait in even rounds, and after it began in odd ones.
func (s *runStory) passes(n int) {
	s.t.Helper()
	ctx, c := context.Background(), s.client
	builder := func(on cyclone.Conflict) workflow.Ref[int] {
		b := workflow.New("passes", cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: on}))
		task := workflow.Run(b, "task", s.taking, workflow.Value(fmt.Sprint("task ", n)))
		gate := workflow.Wait(b, "gate", 0, workflow.After(task))
		width := 3
		if n%4 == 0 {
			width = dag.WideAbove + 1
		}
		refs := make([]workflow.Ref[int], width)
		for i := range refs {
			refs[i] = workflow.Run(b, fmt.Sprint("part.", i), s.part, workflow.Value(fmt.Sprintf("ok %d.%d", n, i)), workflow.After(gate))
		}
		return workflow.Run(b, "sum", s.sum, workflow.All(refs...))
	}
	before := n%2 == 0
	if before {
		s.say("pause", c.Pause(ctx, "default"))
	}
	id := s.enqueueRun(builder(cyclone.Existing))
	s.enqueueRun(builder(cyclone.Existing))
	s.enqueueRun(builder(cyclone.Reject))
	for _, name := range []string{"word", "gate"} {
		node := map[string]string{"word": "task", "gate": "gate"}[name]
		if !before {
			s.until(id, node, cyclone.StepWaiting)
		}
		for range 2 {
			s.say("signal", c.Signal(ctx, id, name, "now", queue.SignalKey("the only "+name)))
		}
		if before && name == "gate" {
			s.say("resume", c.Resume(ctx, "default"))
		}
	}
	s.wait(id)
	s.say("late signal", c.Signal(ctx, id, "gate", nil))
	s.delete(id)
}

// fails is a run that fails and is repaired.
func (s *runStory) fails(n int) {
	s.t.Helper()
	b := workflow.New("fails")
	bad := workflow.Run(b, "bad", s.part, workflow.Value(fmt.Sprint("discard ", n)))
	other := workflow.Run(b, "other", s.part, workflow.Value(fmt.Sprint("ok ", n)))
	id := s.enqueueRun(workflow.Run(b, "sum", s.sum, workflow.All(bad, other)))
	s.untilRun(id, cyclone.RunFailed)
	s.say("retry", s.client.Retry(context.Background(), id, "bad", cyclone.RetryReason("again")))
	s.untilRun(id, cyclone.RunCompleted)
	s.wait(id)
	s.delete(id)
}

// isCancelled is a run that is cancelled while all its nodes wait for their time, or for
// others. It is sometimes one that is built, cancelled and deleted in several calls.
func (s *runStory) isCancelled(n int) {
	s.t.Helper()
	b := workflow.New("cancelled")
	later := make([]workflow.Ref[int], 2)
	if n%4 == 0 {
		later = make([]workflow.Ref[int], 450)
	}
	for i := range later {
		later[i] = workflow.Run(b, fmt.Sprint("later.", i), s.part, workflow.Value(fmt.Sprint("never ", n)), cyclone.WithDelay(time.Hour))
	}
	id := s.enqueueRun(workflow.Run(b, "sum", s.sum, workflow.All(later...)))
	s.say("cancel", s.client.Cancel(context.Background(), id))
	s.say("cancel again", s.client.Cancel(context.Background(), id))
	s.delete(id)
}

// isForgotten is a run that is not kept, and goes when storage is cleaned.
func (s *runStory) isForgotten(n int) {
	s.t.Helper()
	b := workflow.New("forgotten", cyclone.WithRetention(time.Millisecond))
	id := s.enqueueRun(workflow.Run(b, "part", s.part, workflow.Value(fmt.Sprint("forget ", n))))
	s.untilRun(id, cyclone.RunCompleted)
}

// untilRun waits until the run has ended so, or is gone.
func (s *runStory) untilRun(id cyclone.RunID, want cyclone.RunState) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		info, err := s.client.GetRun(context.Background(), id)
		if err == nil && info.State == want || errors.Is(err, cyclone.ErrNotFound) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("run %v is %q (%v), want %q: %+v", id, info.State, err, want, info.Steps)
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}
