package worker

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// registerBuiltin makes the worker serve the nodes of workflows that wait and sleep.
// They are tasks: what they wait for holds no slot, and workers that were lost
// meanwhile do not count.
func (w *Worker) registerBuiltin() {
	for name, handler := range map[string]func(context.Context, wire.WaitInput) (any, error){
		wire.KindWait: waitNode, wire.KindSleep: sleepNode,
	} {
		k := w.newKind(&wire.Definition{
			Name: name, Class: wire.ClassTask, LostSet: true, LostCap: wire.MaxLostCap,
			Invoke: func(ctx context.Context, decode func(any) error) (any, error) {
				var in wire.WaitInput
				if err := decode(&in); err != nil {
					return nil, &wire.DecodeError{Kind: name, Err: err}
				}
				return handler(ctx, in)
			},
		})
		k.builtin = true
		w.kinds[name] = k
	}
}

// waitNode returns the signal's payload as it was sent.
func waitNode(ctx context.Context, in wire.WaitInput) (any, error) {
	return step.WaitSignal[wire.Raw](ctx, in.Name, time.Duration(in.TimeoutMS)*time.Millisecond)
}

func sleepNode(ctx context.Context, in wire.WaitInput) (any, error) {
	return nil, step.Sleep(ctx, in.Name, time.Duration(in.TimeoutMS)*time.Millisecond)
}
