package cyclonetest

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// CallAction calls the action's handler once, without a queue, and returns its
// error as it is. ctx is from [NewContext], or derived from it. The input is
// encoded and decoded on the way, as it would be by the default codec; an
// input that does not survive that is an error, and so is an action without a
// handler. A panic of the handler is not caught.
func CallAction[In any](ctx context.Context, action *cyclone.Action[In], in In) error {
	_, err := call(ctx, action, in)
	return err
}

// CallStep is [CallAction] for a step and returns its output, encoded and decoded
// as well.
func CallStep[In, Out any](ctx context.Context, step *cyclone.Step[In, Out], in In) (Out, error) {
	return callOf[Out](ctx, step, in)
}

// CallTask is [CallAction] for a task and returns its output, encoded and decoded
// as well.
func CallTask[In, Out any](ctx context.Context, task *cyclone.Task[In, Out], in In) (Out, error) {
	return callOf[Out](ctx, task, in)
}

var codec = queue.NewMsgpackCodec(0)

func call(ctx context.Context, def cyclone.Definition, in any) (any, error) {
	invoke := def.Wire().Invoke
	if invoke == nil {
		return nil, fmt.Errorf("cyclonetest: %s is only declared: give it a handler with Handle", def.Name())
	}
	payload, err := codec.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("cyclonetest: input of %s: %w", def.Name(), err)
	}
	return invoke(ctx, func(into any) error { return codec.Unmarshal(payload, into) })
}

func callOf[Out any](ctx context.Context, def cyclone.Definition, in any) (Out, error) {
	var out Out
	returned, err := call(ctx, def, in)
	if err != nil {
		return out, err
	}
	payload, err := codec.Marshal(returned)
	if err == nil {
		err = codec.Unmarshal(payload, &out)
	}
	if err != nil {
		return out, fmt.Errorf("cyclonetest: output of %s: %w", def.Name(), err)
	}
	return out, nil
}
