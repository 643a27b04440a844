package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// The slots of a worker process: of the demo's own, and of the others.
const (
	mainSlots  = 8
	otherSlots = 6
)

// Work is the other process: it prints the id of its worker, and works until ctx
// is done, parent ends, or somebody kills it.
func Work(ctx context.Context, client *queue.Client, plan Plan, parent io.Reader, out io.Writer) error {
	w, err := newWorker(client, newJobs(plan), otherSlots)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, w.ID()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, parent)
		cancel()
	}()
	return w.Run(ctx)
}

func newWorker(client *queue.Client, j *jobs, slots int) (*worker.Worker, error) {
	w, err := worker.New(client, worker.Config{
		Queues:        worker.Queues("mail", "webhooks", "crm", "imports", "media"),
		Concurrency:   slots,
		Lease:         j.plan.lease(),
		ShutdownGrace: j.plan.unit(),
		Logger:        slog.New(slog.DiscardHandler), // the view tells what matters
	})
	if err != nil {
		return nil, err
	}
	w.Register(j.all()...)
	return w, nil
}
