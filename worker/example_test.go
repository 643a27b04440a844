package worker_test

import (
	"context"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

var SendEmail = cyclone.NewAction("send_email", func(ctx cyclone.Context, to string) error {
	ctx.Logger().Info("sending", "to", to)
	return nil
})

// A process that works until it is told to stop, and then stops softly.
func Example() {
	client, err := queue.Open("redis://127.0.0.1:6379/0", queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	w, err := worker.New(client, worker.Config{
		Queues:      []worker.Queue{{Name: "default", Weight: 3}, {Name: "bulk", Weight: 1}},
		Concurrency: 50,
	})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(SendEmail)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := w.Run(ctx); err != nil {
		log.Print(err)
	}
}

// Every attempt is timed. What the middleware returns decides about the step.
func ExampleMiddleware() {
	timed := func(ctx cyclone.Context, next func(context.Context) error) error {
		began := time.Now()
		err := next(ctx)
		ctx.Logger().Info("attempt ended", "took", time.Since(began), "error", err)
		return err
	}
	_ = worker.Config{Middleware: []worker.Middleware{timed}}
}
