// Shutdown stops a worker in the middle of its work, as a deployment does. What can
// finish in time finishes; the rest is given back, and no attempt is counted.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// render takes as long as it is told, and ends early when its context ends.
func render(ctx cyclone.Context, took time.Duration) error {
	fmt.Printf("render for %v: attempt %d begins\n", took, ctx.Attempt())
	select {
	case <-time.After(took):
		return nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), cyclone.ErrShutdown) {
			fmt.Println("interrupted: save what can be saved")
		}
		return ctx.Err()
	}
}

var Render = cyclone.NewAction("render", render, cyclone.WithRetention(time.Minute))

func newWorker(client *queue.Client) *worker.Worker {
	w, err := worker.New(client, worker.Config{ShutdownGrace: 300 * time.Millisecond, Concurrency: 1})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(Render)
	return w
}

func main() {
	client := devredis.Client(queue.Config{})
	run, err := cyclone.EnqueueAction(context.Background(), client, Render, time.Second)
	if err != nil {
		log.Fatal(err)
	}

	// The library handles no signals: the context is the signal.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	time.AfterFunc(200*time.Millisecond, stop) // stands for the SIGTERM of a deployment
	if err := newWorker(client).Run(ctx); err != nil {
		log.Fatal(err)
	}
	steps, err := client.ListSteps(context.Background(), run.ID())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("after the stop: %s, interruptions: %d\n", steps[0].State, steps[0].Interruptions)

	// The next version of the program takes it up.
	ctx, stop = context.WithCancel(context.Background())
	defer stop()
	go newWorker(client).Run(ctx)
	if err := run.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("completed")
}
