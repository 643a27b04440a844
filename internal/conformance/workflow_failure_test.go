package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// patiently bounds a wait that only a failure uses up.
func patiently(l *lab.Lab) (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.Context(), 30*time.Second)
}

// mustFail waits for the run and compares which node failed it.
func mustFail(l *lab.Lab, id cyclone.RunID, node string) {
	l.Helper()
	var run *cyclone.RunError
	if err := mustWait(l, id); !errors.As(err, &run) || run.State != cyclone.RunFailed || run.Node != node || run.RunID != id {
		l.Errorf("the run ended with %v, want it failed at %s", err, node)
	}
}

// A discarded node fails the run. Every sibling that has not finished is cancelled,
// whatever it was doing: a running one is told, and what it returns is dropped.
func TestSpec_C15_DiscardedNodeFailsTheRunAndCancelsSiblings(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		running, release := newHolding(), make(chan struct{})
		c := newCrew(map[string]func(cyclone.Context) error{
			"done": nil, "running": running.run,
			"snoozed":  func(cyclone.Context) error { return cyclone.Snooze(time.Hour) },
			"retrying": func(cyclone.Context) error { return cyclone.RetryAfter(errBoom, time.Hour) },
			"bad": func(ctx cyclone.Context) error {
				<-release
				return cyclone.Permanent(errBoom)
			},
		})
		b := workflow.New("order")
		done := c.do(b, "done")
		c.do(b, "running")
		c.do(b, "snoozed")
		c.do(b, "retrying")
		c.do(b, "scheduled", cyclone.WithDelay(time.Hour))
		c.do(b, "elsewhere", cyclone.WithQueue("unserved"))
		workflow.Wait(b, "waiting", 0)
		bad := c.do(b, "bad")
		c.do(b, "blocked", workflow.After(done, bad))
		w := l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		<-running.in
		l.UntilNode(id, "done", cyclone.StepCompleted)
		l.UntilNode(id, "snoozed", cyclone.StepSnoozed)
		l.UntilNode(id, "retrying", cyclone.StepRetrying)
		l.UntilNode(id, "waiting", cyclone.StepWaiting)
		l.RequireNodes(id, "running:running", "scheduled:scheduled", "elsewhere:ready", "blocked:blocked")
		close(release)
		mustFail(l, id, "bad")
		if cause := <-running.out; !errors.Is(cause, cyclone.ErrCancelled) {
			l.Errorf("the running sibling's context ended with %v, want ErrCancelled", cause)
		}
		l.Until("the slots are free", func() bool { return w.Health().Running == 0 && len(l.Leased()) == 0 })
		l.RequireNodes(id, "done:completed", "bad:discarded", "running:cancelled", "snoozed:cancelled", "retrying:cancelled",
			"scheduled:cancelled", "elsewhere:cancelled", "waiting:cancelled", "blocked:cancelled")
		if slices.Contains(c.entered(), "blocked") {
			l.Error("what depends on the discarded node has run")
		}
	})
}

// An ordinary failure is no discard: the run goes on with the next attempt, and with
// the attempts used up it fails like any other.
func TestSpec_C15_RetriedNodeFailsNothing(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		flaky := func(n int) func(cyclone.Context) error {
			return func(ctx cyclone.Context) error {
				if ctx.Attempt() <= n {
					return errBoom
				}
				return nil
			}
		}
		c := newCrew(map[string]func(cyclone.Context) error{"flaky": flaky(4), "worse": flaky(5)}, soon)
		l.Start(worker.Config{}, c)
		good, bad := workflow.New("good"), workflow.New("bad")
		c.do(good, "after", workflow.After(c.do(good, "flaky")))
		c.do(bad, "never", workflow.After(c.do(bad, "worse")))
		if err := mustWait(l, lab.EnqueueRun(l, good)); err != nil {
			l.Errorf("a run whose node completes at its fifth attempt ended with %v", err)
		}
		id := lab.EnqueueRun(l, bad)
		mustFail(l, id, "worse")
		l.RequireNodes(id, "worse:discarded", "never:cancelled")
		if c.times("flaky") != 5 || c.times("worse") != 5 || c.times("after") != 1 || c.times("never") != 0 {
			l.Errorf("entered %v", c.entered())
		}
	})
}

// A failure stays in its branch when, and only when, something is downstream of the
// discarded node and all of it, however far, says so.
func TestSpec_C16_FailureStaysInABranchThatSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []string // name: dependencies…; a policy is the last character of the name
		ends  string   // of the nodes
		fails bool
	}{
		"a branch":               {[]string{"bad", "a?: bad", "b?: a", "other", "last: other"}, "a:cancelled b:cancelled other:completed last:completed", false},
		"nothing downstream":     {[]string{"bad", "slow"}, "", true},
		"one that says nothing":  {[]string{"bad", "a?: bad", "b: bad"}, "a:cancelled b:cancelled", true},
		"one that is far away":   {[]string{"bad", "a?: bad", "b?: a", "c: b"}, "a:cancelled b:cancelled c:cancelled", true},
		"run anyway":             {[]string{"bad", "a!: bad", "b: a"}, "a:completed b:cancelled", true},
		"run anyway to the end":  {[]string{"bad", "a!: bad", "b!: a"}, "a:completed b:completed", false},
		"one of two":             {[]string{"good", "bad", "a?: good bad", "b!: a"}, "good:completed a:cancelled b:completed", false},
		"a diamond":              {[]string{"top", "bad: top", "side: top", "a!: bad side", "b?: a"}, "top:completed side:completed a:completed b:completed", false},
		"a branch of a branch":   {[]string{"bad", "a?: bad", "bad2", "b!: bad2 a", "c?: b"}, "a:cancelled b:completed c:completed", false},
		"a fan-in of both kinds": {[]string{"bad", "a?: bad", "b!: bad", "c!: a b"}, "a:cancelled b:completed c:completed", false},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				crew := newCrew(map[string]func(cyclone.Context) error{"bad": failsForGood, "bad2": failsForGood})
				b := workflow.New("branches")
				nodes := make(map[string]workflow.Node)
				for _, line := range c.nodes {
					node, deps, _ := strings.Cut(line, ":")
					var opts []cyclone.NodeOption
					switch {
					case strings.HasSuffix(node, "?"):
						opts = append(opts, branch)
					case strings.HasSuffix(node, "!"):
						opts = append(opts, anyway)
					}
					for _, dep := range strings.Fields(deps) {
						opts = append(opts, workflow.After(nodes[dep]))
					}
					node = strings.TrimRight(node, "?!")
					nodes[node] = crew.do(b, node, opts...)
				}
				l.Start(worker.Config{}, crew)
				id := lab.EnqueueRun(l, b)
				if c.fails {
					mustFail(l, id, "bad")
				} else if err := mustWait(l, id); err != nil {
					l.Errorf("the run ended with %v, want it completed", err)
				}
				if c.fails && name == "run anyway" { // what had not begun may have been cancelled first
					return
				}
				l.RequireNodes(id, append(strings.Fields(c.ends), "bad:discarded")...)
				for _, word := range strings.Fields(c.ends) {
					node, end, _ := strings.Cut(word, ":")
					if ran := crew.times(node); (end == "completed") != (ran == 1) {
						l.Errorf("%s is %s and was entered %d times", node, end, ran)
					}
				}
			})
		})
	}
}

// What runs anyway finds zero values where there is no output, and the output where
// there is one.
func TestSpec_C16_WhatRunsAnywaySeesZeroValues(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		type parts struct {
			Good, Bad string
			Kept      int
		}
		part := cyclone.NewStep("part", func(_ context.Context, in string) (string, error) {
			if in == "bad" {
				return "lost", cyclone.Permanent(errBoom)
			}
			return in + "!", nil
		})
		join := cyclone.NewStep("join", func(ctx cyclone.Context, in parts) (parts, error) {
			if out, err := cyclone.Output[string](ctx, "bad"); !errors.Is(err, cyclone.ErrNotFound) {
				return in, cyclone.Permanent(errors.Join(errors.New("a discarded node has output "+out), err))
			}
			return in, nil
		})
		list := cyclone.NewStep("list", func(_ context.Context, in []string) ([]string, error) { return in, nil })
		b := workflow.New("outputs")
		good := workflow.Run(b, "good", part, workflow.Value("good"))
		bad := workflow.Run(b, "bad", part, workflow.Value("bad"))
		in := parts{Bad: "as it was", Kept: 7}
		joined := workflow.Run(b, "join", join, workflow.Join(&in, workflow.Bind(&in.Good, good), workflow.Bind(&in.Bad, bad)), anyway)
		all := workflow.Run(b, "all", list, workflow.All(good, bad, good), anyway)
		both := cyclone.NewStep("both", func(ctx cyclone.Context, in parts) (string, error) {
			out, err := cyclone.Output[[]string](ctx, "all")
			return strings.Join(append(out, in.Good, in.Bad), ","), err
		})
		last := workflow.Run(b, "last", both, joined, workflow.After(all), anyway)
		l.Start(worker.Config{}, part, join, list, both)
		run, err := workflow.EnqueueFor(context.Background(), l.Client(), last)
		if err != nil {
			l.Fatal(err)
		}
		ctx, cancel := patiently(l)
		defer cancel()
		if got, err := run.Wait(ctx); err != nil || got != "good!,,good!,good!,as it was" {
			l.Errorf("got %q, %v", got, err)
		}
	})
}
