package conformance_test

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// breadth is a hook of go-redis that notes the most steps one call named.
type breadth struct{ most atomic.Int64 }

var member = regexp.MustCompile(`^\d+\.\d+(:.*)?$`)

func (b *breadth) see(cmd redis.Cmder) {
	ids := int64(0)
	for _, arg := range cmd.Args() {
		if text := lab.Text(arg); len(text) < 60 && member.MatchString(text) {
			ids++
		}
	}
	for most := b.most.Load(); ids > most && !b.most.CompareAndSwap(most, ids); most = b.most.Load() {
	}
}

func (b *breadth) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breadth) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { b.see(cmd); return next(ctx, cmd) }
}

func (b *breadth) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			b.see(cmd)
		}
		return next(ctx, cmds)
	}
}

// No call names more than 500 steps, however wide a run is.
const widest = 500

// spread enqueues a run of n nodes between a first and a last one and waits for it.
func spread(l *lab.Lab, n int) {
	l.Helper()
	var early atomic.Int32
	var ran, began atomic.Int64
	first := cyclone.NewStep("first", func(context.Context, string) (int, error) { began.Store(1); return 1, nil })
	middle := cyclone.NewStep("middle", func(_ context.Context, in int) (int, error) {
		if began.Load() == 0 {
			early.Add(1)
		}
		ran.Add(1)
		return in, nil
	})
	last := cyclone.NewStep("last", func(_ context.Context, in []int) (int, error) {
		if ran.Load() != int64(n) {
			early.Add(1)
		}
		sum := 0
		for _, v := range in {
			sum += v
		}
		return sum, nil
	})
	b := workflow.New("spread")
	top := workflow.Run(b, "first", first, workflow.Value(""))
	refs := make([]workflow.Ref[int], n)
	for i := range refs {
		refs[i] = workflow.Run(b, fmt.Sprintf("m%d", i), middle, top)
	}
	sum := workflow.Run(b, "last", last, workflow.All(refs...))
	w := l.Prepare(worker.Config{Concurrency: 200})
	w.Register(first, middle, last)
	var wide breadth
	w.Redis.AddHook(&wide)
	w.Go()
	client, rdb, _ := l.NewClient(l.Config())
	rdb.AddHook(&wide)
	run, err := workflow.EnqueueFor(context.Background(), client, sum)
	if err != nil {
		l.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.Context(), 2*time.Minute)
	defer cancel()
	if got, err := run.Wait(ctx); err != nil || got != n {
		l.Fatalf("the sum is %d (%v) after %d nodes, want %d", got, err, ran.Load(), n)
	}
	if early.Load() > 0 || ran.Load() != int64(n) {
		l.Errorf("%d nodes ran for %d, %d of them too early", ran.Load(), n, early.Load())
	}
	if most := wide.most.Load(); most > widest || most == 0 {
		l.Errorf("one call named %d steps, at most %d may be", most, widest)
	}
}

func TestFanOutOfAThousand(t *testing.T) { lab.Each(t, func(l *lab.Lab) { spread(l, 1000) }) }

func TestFanInOfTenThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand nodes on three servers")
	}
	lab.Each(t, func(l *lab.Lab) { spread(l, 10_000) })
}

// Many nodes that end at the same instant, on several workers, release what depends on
// all of them once.
func TestFanInAtTheSameInstant(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const runs, width = 8, 40
		var mu sync.Mutex
		joined := make(map[cyclone.RunID]int)
		gates := make(map[cyclone.RunID]*sync.WaitGroup)
		gate := func(id cyclone.RunID) *sync.WaitGroup {
			mu.Lock()
			defer mu.Unlock()
			if gates[id] == nil {
				gates[id] = new(sync.WaitGroup)
				gates[id].Add(width)
			}
			return gates[id]
		}
		part := cyclone.NewAction("part", func(ctx cyclone.Context, _ string) error {
			g := gate(ctx.RunID())
			g.Done()
			g.Wait()
			return nil
		})
		join := cyclone.NewAction("join", func(ctx cyclone.Context, _ string) error {
			mu.Lock()
			defer mu.Unlock()
			joined[ctx.RunID()]++
			return nil
		})
		b := workflow.New("instant")
		var deps []workflow.Dependency
		for i := range width {
			deps = append(deps, workflow.Do(b, fmt.Sprintf("p%d", i), part, workflow.Value("")))
		}
		workflow.Do(b, "join", join, workflow.Value(""), workflow.After(deps...))
		for range 3 {
			l.Start(worker.Config{Concurrency: runs * width}, part, join)
		}
		var ids []cyclone.RunID
		for range runs {
			ids = append(ids, lab.EnqueueRun(l, b))
		}
		for _, id := range ids {
			if err := mustWait(l, id); err != nil {
				l.Error(err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			if joined[id] != 1 {
				l.Errorf("run %v was joined %d times", id, joined[id])
			}
		}
	}, lab.Configure(queue.Config{Partitions: 4}))
}

// A discard meets completions: whichever is first, the run comes to its end, and what
// depends on the discarded node does not run.
func TestDiscardAgainstCompletion(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(map[string]func(cyclone.Context) error{"bad": failsForGood})
		for range 2 {
			l.Start(worker.Config{}, c)
		}
		var ids []cyclone.RunID
		for i := range 40 {
			b := workflow.New("race")
			opts := []cyclone.NodeOption{workflow.After(c.do(b, "bad"), c.do(b, "a"), c.do(b, "b"))}
			if i%2 == 0 {
				opts = append(opts, branch)
			}
			c.do(b, "never", opts...)
			c.do(b, "z", workflow.After(c.do(b, "y", workflow.After(c.do(b, "x")))))
			ids = append(ids, lab.EnqueueRun(l, b))
		}
		for i, id := range ids {
			err := mustWait(l, id)
			if (err == nil) != (i%2 == 0) {
				l.Errorf("run %v, contained %v, ended with %v", id, i%2 == 0, err)
			}
			l.RequireNodes(id, "bad:discarded", "never:cancelled")
		}
		if c.times("never") != 0 {
			l.Error("what depends on a discarded node was run")
		}
	}, lab.Configure(queue.Config{Partitions: 4}))
}

// Whatever call loses its reply, each node is completed once and the run ends.
func TestRunsUnderLostReplies(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(map[string]func(cyclone.Context) error{"bad": failsForGood})
		w := l.Prepare(worker.Config{})
		w.Register(c)
		var calls atomic.Int64
		for _, script := range lab.Scripts() {
			w.Redis.AddHook(&lab.Loss{Script: script, Lose: func() bool { return calls.Add(1)%3 == 0 }})
		}
		w.Go()
		client, rdb, _ := l.NewClient(l.Config())
		for _, script := range lab.Scripts() {
			rdb.AddHook(&lab.Loss{Script: script, Lose: func() bool { return calls.Add(1)%2 == 0 }})
		}
		b := workflow.New("diamond")
		top := c.do(b, "top")
		left, right := c.do(b, "left", workflow.After(top)), c.do(b, "right", workflow.After(top))
		c.do(b, "bottom", workflow.After(left, right))
		c.do(b, "never", workflow.After(c.do(b, "bad")), branch)
		const runs = 10
		for range runs {
			run, err := b.Enqueue(context.Background(), client)
			if err != nil {
				l.Fatal(err)
			}
			if err := mustWait(l, run.ID()); err != nil {
				l.Error(err)
			}
		}
		for _, node := range []string{"top", "left", "right", "bottom", "bad"} {
			if n := c.times(node); n != runs {
				l.Errorf("%s was entered %d times in %d runs", node, n, runs)
			}
		}
		if n := l.Count(); n != runs*3 { // the run, the discarded and the cancelled node
			l.Errorf("%d bodies are stored of %d runs", n, runs)
		}
	})
}
