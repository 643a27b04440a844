package faults_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// stage is the input of what runs of many steps are made of.
type stage struct {
	// From is a number that comes from the nodes before, or from the test.
	From  int           `json:"from"`
	Takes time.Duration `json:"takes"`
	Fails int           `json:"fails"` // how many attempts fail
	Pause string        `json:"pause"` // what a task does between its second and third step: "", sleep, signal or child
}

// recordedSteps is how many steps a task records.
const recordedSteps = 5

// What runs of many steps are made of, as the test knows it.
var (
	partStep   = cyclone.DeclareStep[stage, int]("part")
	gatherStep = cyclone.DeclareStep[[]int, int]("gather")
	fiveTask   = cyclone.DeclareTask[stage, int]("five")
)

// stages are the handlers of these.
type stages struct {
	*child

	effects string // the list that completion transactions append to
	serial  atomic.Int64
}

func (s *stages) definitions() []cyclone.Definition {
	short := cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 50, Delays: []time.Duration{20 * time.Millisecond}})
	return []cyclone.Definition{
		cyclone.NewStep("part", s.part, short, cyclone.WithLostCap(1000)),
		cyclone.NewStep("gather", s.gather, short, cyclone.WithLostCap(1000)),
		cyclone.NewTask("five", cyclone.HandlerFunc(s.five), short, cyclone.WithLostCap(1000)),
	}
}

// execution is one time that a handler is entered.
type execution struct {
	*stages

	ctx cyclone.Context
	n   int64
}

// enter tells that a handler is entered. The effect is part of the completion.
func (s *stages) enter(ctx cyclone.Context) (*execution, error) {
	e := &execution{stages: s, ctx: ctx, n: s.serial.Add(1)}
	e.say(line{Event: "start"})
	tx := ctx.CompletionTx()
	return e, tx.ListPush(s.effects, ctx.IdempotencyKey())
}

func (e *execution) say(l line) {
	l.RunID, l.Node, l.Attempt, l.Execution, l.At = e.ctx.RunID(), e.ctx.Node(), e.ctx.Attempt(), e.n, time.Now()
	e.write(l)
}

// leave tells how the handler ends.
func (e *execution) leave(out int, err error) (int, error) {
	l := line{Event: "end"}
	if err != nil {
		l.Error = err.Error()
	}
	e.say(l)
	return out, err
}

func (s *stages) part(ctx cyclone.Context, in stage) (int, error) {
	e, err := s.enter(ctx)
	if err == nil {
		err = pass(ctx, in.Takes)
	}
	if err == nil && ctx.Attempt() <= in.Fails {
		err = errAsked
	}
	return e.leave(in.From+1, err)
}

func (s *stages) gather(ctx cyclone.Context, all []int) (int, error) {
	e, err := s.enter(ctx)
	sum := 0
	for _, n := range all {
		sum += n
	}
	return e.leave(sum, err)
}

// five records its steps one after the other. A pause ends the attempt, and so does
// not come to the end.
func (s *stages) five(ctx cyclone.Context, in stage) (int, error) {
	e, err := s.enter(ctx)
	for n := 1; n <= recordedSteps && err == nil; n++ {
		err = e.record(n, in.Takes/recordedSteps)
		if n == 2 && err == nil {
			err = e.pause(in)
		}
	}
	return e.leave(in.From+recordedSteps, err)
}

// record does one recorded step, whose result is another one each time that it runs.
func (e *execution) record(n int, takes time.Duration) error {
	replayed := true
	value, err := step.Do(e.ctx, stepName(n), func(ctx context.Context) (string, error) {
		replayed = false
		e.say(line{Event: "ran", Step: n})
		return fmt.Sprintf("%d.%d.%d", os.Getpid(), e.n, n), pass(ctx, takes)
	})
	if err == nil {
		e.say(line{Event: "have", Step: n, Value: value, Replayed: replayed})
	}
	return err
}

func stepName(n int) string { return fmt.Sprint("s", n) }

func (e *execution) pause(in stage) error {
	switch in.Pause {
	case "sleep":
		return step.Sleep(e.ctx, "pause", 10*time.Millisecond)
	case "signal":
		_, err := step.WaitSignal[int](e.ctx, approval, 0)
		return err
	case "child":
		out, err := step.Run(e.ctx, "child", partStep, stage{From: in.From})
		if err == nil && out != in.From+1 {
			err = cyclone.Permanent(fmt.Errorf("the child returned %d, want %d", out, in.From+1))
		}
		return err
	}
	return nil
}

// pass lets time pass, or the context end.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
