package cyclone_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// outputs are those of a workflow's nodes.
type outputs map[string]any

func (o outputs) Output(node string, into any) (bool, error) {
	switch out := o[node].(type) {
	case nil:
		return false, nil
	case error:
		return false, out
	default:
		*into.(*string) = out.(string)
		return true, nil
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	ctx := context.WithValue(newAttempt(t, 1), wire.OutputsKey{}, outputs{"charge": "receipt", "broken": io.ErrUnexpectedEOF})
	if got, err := cyclone.Output[string](ctx, "charge"); err != nil || got != "receipt" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := cyclone.Output[string](ctx, "other"); !errors.Is(err, cyclone.ErrNotFound) || got != "" {
		t.Errorf("of no dependency: %q, %v", got, err)
	}
	if _, err := cyclone.Output[string](newAttempt(t, 1), "charge"); !errors.Is(err, cyclone.ErrNotFound) {
		t.Errorf("outside a workflow: %v", err)
	}
	_, err := cyclone.Output[string](ctx, "broken")
	if d := retry.Decide(retry.Rule{}, 1, err, 0); !errors.Is(err, io.ErrUnexpectedEOF) || d.Outcome != retry.OutcomeDiscard {
		t.Errorf("one that does not decode: %v", err)
	}
}

// What a child run returns is inferred from its definition.
func output[In, Out any](def cyclone.Returning[In, Out], in In) (string, Out) {
	var none Out
	return def.With(in).Spec().Kind, none
}

func TestReturningInfersItsTypes(t *testing.T) {
	t.Parallel()
	step := cyclone.DeclareStep[int, string]("step")
	task := cyclone.DeclareTask[string, []int]("task")
	kind, text := output(step, 7)
	other, list := output(task, "in")
	if kind != "step" || other != "task" || text != "" || list != nil {
		t.Errorf("got %q %q", kind, other)
	}
}
