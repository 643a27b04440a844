package cyclonetest

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
)

// CallAction calls the action's handler once, without a queue, and returns its
// error as it is. ctx is from [NewContext], or derived from it. The input is
// encoded and decoded on the way, as it would be by the default codec; an
// input that does not survive that is an error, and so are an action without a
// handler and a fault in the completion transaction of a handler that returned nil.
// A panic of the handler is not caught. What was added to the transaction tells
// [Completion].
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
// as well. What the task records is kept in memory, with the context that [NewContext]
// made: a second call with it goes on where the first one has failed, see [Recorded].
//
// Tries of recorded steps that have to wait, sleeps, and waits with a timeout are over
// at once: the handler runs again from the top, as it would. A wait takes the signals
// given with [Signal]; one that has neither a signal nor a timeout is an error. Of a
// child run, the handler is called like this one, once; a child workflow is an error,
// and what [Drain] is for.
func CallTask[In, Out any](ctx context.Context, task *cyclone.Task[In, Out], in In) (Out, error) {
	return callOf[Out](ctx, task, in)
}

var codec = queue.NewMsgpackCodec(0)

func call(ctx context.Context, def cyclone.Definition, in any) (any, error) {
	d := def.Wire()
	if d.Invoke == nil {
		return nil, fmt.Errorf("cyclonetest: %s is only declared: give it a handler with Handle", def.Name())
	}
	payload, err := codec.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("cyclonetest: input of %s: %w", def.Name(), err)
	}
	decode := func(into any) error { return codec.Unmarshal(payload, into) }
	a, _ := ctx.Value(wire.ContextKey{}).(*attempt)
	if a == nil {
		a = &attempt{memory: newMemory(), logger: slog.Default()}
	}
	a.begin()
	var out any
	if d.Class == wire.ClassTask {
		out, err = a.drive(ctx, d, decode)
	} else {
		out, err = d.Invoke(ctx, decode)
	}
	if err != nil {
		return nil, err
	}
	return out, a.completed()
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
