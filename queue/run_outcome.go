package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/retry"
)

// ending is how a run stands, and how it has ended if it has.
type ending struct {
	id     cyclone.RunID
	state  cyclone.RunState
	output *result // of a completed run, nil when nothing is kept
	step   *stored // that decided the end of another one; nil when none did
	late   bool    // the run's deadline decided it
}

// outcome returns how a run stands. It returns [cyclone.ErrNotFound] when nothing
// is kept of it.
func (c *Client) outcome(ctx context.Context, id cyclone.RunID) (*ending, error) {
	s, err := c.look(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.ending(ctx, s)
}

// ending is outcome for a run that was looked up.
func (c *Client) ending(ctx context.Context, s *stored) (*ending, error) {
	if !s.many {
		e := &ending{id: s.id, state: runState(s.state), output: s.result}
		if e.state == cyclone.RunFailed || e.state == cyclone.RunCancelled {
			e.step = s
		}
		return e, nil
	}
	p := s.part
	st, err := p.client.rdb.HGet(ctx, p.keys.run(s.text), "st").Result()
	if errors.Is(err, redis.Nil) || err == nil && st == "" {
		return nil, cyclone.ErrNotFound // it is being built, or removed
	}
	if err != nil {
		return nil, err
	}
	e := &ending{id: s.id, state: runStateOf(dag.RunMark(st[0]))}
	switch e.state {
	case cyclone.RunCompleted:
		return e, e.readOutput(ctx, s)
	case cyclone.RunFailed, cyclone.RunCancelled:
		return e, e.findDecisive(ctx, s)
	}
	return e, nil
}

// readOutput reads what the run returns, if it returns anything.
func (e *ending) readOutput(ctx context.Context, s *stored) error {
	g, err := graphOf(s.env)
	if err != nil || g.Result < 0 {
		return err
	}
	text, err := s.part.client.rdb.HGet(ctx, s.part.keys.run(s.text), outputField(g.Result)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	var kept stored
	kept.setResult(text)
	e.output = kept.result
	return nil
}

// findDecisive finds the node that made the run end so.
func (e *ending) findDecisive(ctx context.Context, s *stored) error {
	v, err := s.part.loadRun(ctx, s.id)
	if errors.Is(err, errNoRun) {
		return nil
	}
	if err != nil {
		return err
	}
	i := dag.Decisive(v.graph, &v.state)
	if i < 0 {
		e.late = v.state.Overdue
		return nil
	}
	steps, err := v.nodes(ctx, []int{i}, false)
	if err != nil {
		return err
	}
	e.step = steps[0]
	return nil
}

// record is the failure as the recorded step of whoever has waited for the run.
func (e *ending) record(id cyclone.RunID) []byte {
	f := e.failure()
	return record.AppendFailure(nil, &record.Outcome{
		Code: f.Code, Message: f.Message, Attempts: f.Attempts, Run: int64(id), State: string(f.State), Node: f.Node,
	})
}

// failure is the error of whoever waits for a run that failed or was cancelled.
func (e *ending) failure() *cyclone.RunError {
	out := &cyclone.RunError{RunID: e.id, State: e.state}
	if e.step != nil {
		info := e.step.info()
		out.Node, out.Attempts, out.Code, out.Message = info.Node, info.Attempts, info.Code, info.Error
		if info.State == cyclone.StepCancelled && e.state == cyclone.RunFailed {
			out.Code, out.Message = retry.CodeCancelled, "it was cancelled"
		}
	}
	if e.late {
		out.Code, out.Message = retry.CodeTimeout, "its deadline has passed"
	}
	if e.state == cyclone.RunCancelled {
		out.Code, out.Message = retry.CodeCancelled, ""
	}
	return out
}
