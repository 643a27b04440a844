package lab

import (
	"context"

	"github.com/cyclone-queue/cyclone"
)

// Enqueue enqueues an action by the lab's own client.
func Enqueue[In any](l *Lab, action *cyclone.Action[In], in In, opts ...cyclone.EnqueueOption) cyclone.RunID {
	l.Helper()
	run, err := cyclone.EnqueueAction(context.Background(), l.Client(), action, in, opts...)
	if err != nil {
		l.Fatal(err)
	}
	return run.ID()
}

// EnqueueTask enqueues a task by the lab's own client.
func EnqueueTask[In, Out any](l *Lab, task *cyclone.Task[In, Out], in In, opts ...cyclone.EnqueueOption) cyclone.RunID {
	l.Helper()
	run, err := cyclone.EnqueueTask(context.Background(), l.Client(), task, in, opts...)
	if err != nil {
		l.Fatal(err)
	}
	return run.ID()
}
