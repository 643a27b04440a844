package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// RunInfo is what can be seen of a run from outside.
type RunInfo struct {
	ID    cyclone.RunID
	State cyclone.RunState
	// Name is the name of the workflow, or of the action, step or task.
	Name string
	// EnqueuedAt is when the run was enqueued, FinishedAt when it ended, zero when it
	// has not or nobody knows.
	EnqueuedAt, FinishedAt time.Time
	// Steps are the run's steps; a run of an action, a step or a task has one.
	Steps []cyclone.StepInfo
	// Dependencies has for each of Steps the indexes of those that it depends on; nil
	// for a run of one step.
	Dependencies [][]int
}

// StepDetail is all that is known of a step.
type StepDetail struct {
	cyclone.StepInfo
	// Input is what the step was enqueued with, Output what it returned; the
	// output is there while a completed step is kept.
	Input, Output Payload
	// Meta is what was attached to the step with [cyclone.WithMeta].
	Meta map[string]string
	// History tells what happened to the step so far, oldest first. It is bounded:
	// of a step that fails thousands of times the first failure and the latest
	// ones are kept.
	History []HistoryEntry
}

// Payload is an encoded input or output.
type Payload struct {
	// Codec names the codec that wrote it, "" when there is no payload.
	Codec string
	Bytes []byte
	// JSON shows it as JSON; nil when it cannot be shown so.
	JSON json.RawMessage
}

// HistoryEntry is one thing that happened to a step. What does not apply is zero.
type HistoryEntry struct {
	At time.Time
	// Type is failed, snoozed, released, lost, discarded, cancelled, retried or
	// promoted.
	Type    cyclone.EventType
	Attempt int
	Error   string
	Code    string
	Stack   string
	Worker  string
	// Delay is how long the step was made to wait after it.
	Delay time.Duration
	// Started tells of a lost lease whether the handler had entered.
	Started bool
	// Reason is the operator's, of a retry, and Additional the attempts it gave.
	Reason     string
	Additional int
}

// GetRun returns a run and its steps. It returns [cyclone.ErrNotFound] when there
// is no such run or nothing is kept of it any more.
func (c *Client) GetRun(ctx context.Context, id cyclone.RunID) (RunInfo, error) {
	s, err := c.look(ctx, id)
	if err != nil {
		return RunInfo{}, err
	}
	if s.many {
		return c.manyInfo(ctx, s)
	}
	info := s.info()
	return RunInfo{
		ID: id, State: runState(s.state), Name: info.Kind, EnqueuedAt: info.EnqueuedAt, FinishedAt: info.FinishedAt,
		Steps: []cyclone.StepInfo{info},
	}, nil
}

// manyInfo is GetRun for a run of many steps.
func (c *Client) manyInfo(ctx context.Context, s *stored) (RunInfo, error) {
	v, err := s.part.loadRun(ctx, s.id)
	if errors.Is(err, errNoRun) {
		err = cyclone.ErrNotFound
	}
	if err != nil {
		return RunInfo{}, fmt.Errorf("queue: run %v: %w", s.id, err)
	}
	steps, err := v.nodes(ctx, v.every(), false)
	if err != nil {
		return RunInfo{}, fmt.Errorf("queue: run %v: %w", s.id, err)
	}
	info := v.info()
	info.Steps = make([]cyclone.StepInfo, len(steps))
	info.Dependencies = make([][]int, len(steps))
	for i := range steps {
		info.Steps[i], info.Dependencies[i] = steps[i].info(), v.graph.Nodes[i].Deps
	}
	return info, nil
}

// info is the run without its steps.
func (v *runView) info() RunInfo {
	return RunInfo{
		ID: v.id, State: runStateOf(v.state.Run), Name: v.env.Kind,
		EnqueuedAt: timeOrZero(v.env.EnqueuedMs), FinishedAt: timeOrZero(v.finMS),
	}
}

// ListSteps returns the steps of a run; see [Client.GetRun].
func (c *Client) ListSteps(ctx context.Context, id cyclone.RunID) ([]cyclone.StepInfo, error) {
	run, err := c.GetRun(ctx, id)
	return run.Steps, err
}

// Step returns all that is known of one step of a run. It returns
// [cyclone.ErrNotFound] when there is no such run or it has no such node.
func (c *Client) Step(ctx context.Context, id cyclone.RunID, node string) (StepDetail, error) {
	s, _, err := c.lookNode(ctx, id, node)
	if err != nil {
		return StepDetail{}, err
	}
	detail := StepDetail{StepInfo: s.info(), History: s.events(), Input: c.codecs.show(s.env.Codec, s.env.Payload)}
	if s.result != nil {
		detail.Output = c.codecs.show(s.result.Codec, s.result.Output)
	}
	for _, kv := range s.env.Meta {
		if detail.Meta == nil {
			detail.Meta = make(map[string]string, len(s.env.Meta))
		}
		detail.Meta[kv.Key] = kv.Value
	}
	return detail, nil
}

// lookNode is look for one node of a run. The view is there for a run of many steps.
func (c *Client) lookNode(ctx context.Context, id cyclone.RunID, node string) (*stored, *runView, error) {
	s, err := c.look(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if !s.many {
		if s.env.Node != node {
			return nil, nil, noNode(id, node)
		}
		return s, nil, nil
	}
	v, err := s.part.loadRun(ctx, id)
	if errors.Is(err, errNoRun) {
		err = cyclone.ErrNotFound
	}
	if err != nil {
		return nil, nil, fmt.Errorf("queue: run %v: %w", id, err)
	}
	i := v.graph.Find(node)
	if i < 0 {
		return nil, nil, noNode(id, node)
	}
	steps, err := v.nodes(ctx, []int{i}, true)
	if err != nil {
		return nil, nil, fmt.Errorf("queue: run %v: %w", id, err)
	}
	return steps[0], v, nil
}

func noNode(id cyclone.RunID, node string) error {
	return fmt.Errorf("queue: run %v has no node %.64q: %w", id, node, cyclone.ErrNotFound)
}

// runState is the state of a run whose one step is in the given state.
func runState(s cyclone.StepState) cyclone.RunState {
	switch s {
	case cyclone.StepCompleted:
		return cyclone.RunCompleted
	case cyclone.StepExhausted:
		return cyclone.RunFailed
	case cyclone.StepCancelled:
		return cyclone.RunCancelled
	}
	return cyclone.RunRunning
}
