package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
	steps "github.com/cyclone-queue/cyclone/workflow/step"
)

// sagas are what tasks with recorded steps may do between these. N is how many.
var sagas = []string{"plain", "plain", "tries", "crash", "sleep", "wait", "wait", "wait", "wait", "wait", "child", "flow", "flow", "parallel", "fatal"}

// signalName is what sagas wait for.
const signalName = "go"

// gather is the handler of a node that takes the outputs of others.
func (w *world) gather(h *workerHost, ctx cyclone.Context, in []string) (string, error) {
	w.audit.start(h.id(), stepOf(ctx))
	return fmt.Sprint(in), nil
}

// stepOf is the id under which the attempt's step is stored.
func stepOf(ctx cyclone.Context) string {
	var index int
	if _, err := fmt.Sscanf(ctx.Node(), "n%d", &index); err == nil {
		return memberOf(ctx.RunID().String(), index)
	}
	return ctx.RunID().String()
}

// saga is the handler of a task with recorded steps. What it does follows from its
// job alone, however often it begins.
func (w *world) saga(h *workerHost, ctx cyclone.Context, in string) (string, error) {
	s := &telling{w: w, h: h, id: stepOf(ctx)}
	w.audit.start(h.id(), s.id)
	j, err := parseJob(in)
	if err != nil {
		return "", err
	}
	s.job = j
	for i := range j.N {
		if err := s.do(ctx, fmt.Sprint("s", i)); err != nil {
			return "", err
		}
		if err := s.between(ctx, i); err != nil {
			return "", err
		}
	}
	return "told " + in, s.do(ctx, "last")
}

// telling is one attempt of a saga.
type telling struct {
	w   *world
	h   *workerHost
	id  string
	job job
}

// do is one recorded step.
func (s *telling) do(ctx context.Context, name string) error {
	got, err := steps.Do(ctx, name, func(ctx context.Context) (string, error) {
		s.w.audit.execute(s.h.id(), s.id, name)
		n := s.w.times(s.id + " " + name)
		select {
		case <-time.After(time.Duration(1+n) * 50 * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		switch {
		case s.job.Plan == "tries" && n%3 < 2:
			return "", errPlanned
		case s.job.Plan == "fatal" && name == "last":
			return "", cyclone.Permanent(errPlanned)
		}
		return fmt.Sprintf("%s %s, time %d", s.id, name, n), nil
	}, steps.Retry(cyclone.RetryPolicy{MaxAttempts: 5, Delays: delays}))
	if err != nil {
		return err
	}
	s.w.audit.saw(s.id, name, got)
	return nil
}

// between is what comes after a recorded step.
func (s *telling) between(ctx context.Context, i int) error {
	switch {
	case s.job.Plan == "crash" && s.w.times(s.id+" crash") == 0:
		s.w.crash(s.h)
		<-ctx.Done()
		return context.Cause(ctx)
	case s.job.Plan == "sleep":
		return steps.Sleep(ctx, "nap", time.Duration(i+1)*400*time.Millisecond)
	case s.job.Plan == "wait" && i == 0:
		got, err := steps.WaitSignal[string](ctx, signalName, 4*(s.job.Work-100*time.Millisecond))
		if err == nil {
			s.w.audit.saw(s.id, signalName, got)
		}
		if s.job.Work > 300*time.Millisecond {
			return err
		}
	case s.job.Plan == "child" && i == 0:
		j := job{Key: "child-" + s.job.Key, Plan: "fail", N: 1, Work: s.job.Work, Delay: -1}
		got, err := steps.Run(ctx, "child", s.w.kinds.step, j.String())
		if err != nil {
			return err
		}
		s.w.audit.saw(s.id, "child", got)
	case s.job.Plan == "flow" && i == 0:
		got, err := workflow.RunChildFor(ctx, "flow", s.flow())
		if err != nil {
			return err
		}
		s.w.audit.saw(s.id, "flow", got)
	case s.job.Plan == "parallel" && i == 0:
		return steps.Parallel(ctx, func(ctx context.Context) error { return s.do(ctx, "left") }, func(ctx context.Context) error {
			if err := s.do(ctx, "right"); err != nil {
				return err
			}
			return steps.Sleep(ctx, "rest", 300*time.Millisecond)
		})
	}
	return nil
}

// flow is a child run of many steps.
func (s *telling) flow() workflow.Ref[string] {
	b := workflow.New("flow")
	node := func(name, plan string, after ...workflow.Dependency) workflow.Ref[string] {
		j := job{Key: name + "-" + s.job.Key, Plan: plan, N: 1, Work: s.job.Work, Delay: -1}
		return workflow.Run(b, name, s.w.kinds.step, workflow.Value(j.String()), workflow.After(after...))
	}
	first := node("n0", "ok")
	return node("n2", "ok", first, node("n1", "fail", first))
}

// times counts the calls with the same key: how often there was one before.
func (w *world) times(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.counts[key]
	w.counts[key]++
	return n
}
