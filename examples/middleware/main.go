// Middleware carries a trace id from the request that enqueues to the handler that
// works: written to the step's meta data on one side, read on the other.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// traceKey carries the trace id in a context.
type traceKey struct{}

func traceOf(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// sendTrace adds the caller's trace id to everything that is enqueued; a workflow is one
// request, and hands the id to each of its nodes.
func sendTrace(next queue.EnqueueFunc) queue.EnqueueFunc {
	return func(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
		if id := traceOf(ctx); id != "" {
			traced := make([]cyclone.Request, len(requests))
			for i, request := range requests {
				traced[i] = request.With(cyclone.WithMeta("trace", id))
			}
			requests = traced
		}
		return next(ctx, requests...)
	}
}

// takeTrace puts the trace id into the handler's context.
func takeTrace(ctx cyclone.Context, next func(context.Context) error) error {
	return next(context.WithValue(ctx, traceKey{}, ctx.Meta("trace")))
}

// report tells how each attempt ended; time it here to measure handlers.
func report(ctx cyclone.Context, next func(context.Context) error) error {
	err := next(ctx)
	fmt.Printf("%s, attempt %d, ended with error %v\n", ctx.Node(), ctx.Attempt(), err)
	return err
}

// Resize and Notify have plain handlers: the trace id is in their context. What a
// handler enqueues with its context is traced as well.
var (
	Notify = cyclone.NewStep("notify", func(ctx context.Context, image string) (string, error) {
		fmt.Printf("notify about %s, trace %s\n", image, traceOf(ctx))
		return "notified", nil
	})
	Resize = cyclone.DeclareStep[string, cyclone.RunID]("resize")
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{Middleware: []func(queue.EnqueueFunc) queue.EnqueueFunc{sendTrace}})
	Resize.Handle(func(ctx cyclone.Context, image string) (cyclone.RunID, error) {
		fmt.Printf("resize %s, trace %s\n", image, traceOf(ctx))
		run, err := cyclone.EnqueueStep(ctx, client, Notify, image)
		if err != nil {
			return 0, err
		}
		return run.ID(), nil
	})
	w, err := worker.New(client, worker.Config{Concurrency: 1, Middleware: []worker.Middleware{takeTrace, report}})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(Resize, Notify)
	go w.Run(ctx)

	request := context.WithValue(ctx, traceKey{}, "4bf92f35") // as an HTTP middleware does
	run, err := cyclone.EnqueueStep(request, client, Resize, "cat.png")
	if err != nil {
		log.Fatal(err)
	}
	notify, err := run.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := cyclone.AttachOf[string](client, notify).Wait(ctx); err != nil {
		log.Fatal(err)
	}

	b := workflow.New("album")
	workflow.Run(b, "cover", Notify, workflow.Value("cover.png"))
	album, err := b.Enqueue(request, client)
	if err != nil {
		log.Fatal(err)
	}
	if err := album.Wait(ctx); err != nil {
		log.Fatal(err)
	}
}
