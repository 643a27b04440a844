// Order fulfils orders by a workflow: it charges and reserves, waits for somebody to
// approve, ships, and tells the customer. One order is repaired by an operator, another
// one is never approved.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{Concurrency: 1}) // so that the lines come in order
	if err != nil {
		log.Fatal(err)
	}
	var s shop
	s.register(w)
	s.bankIsAway.Store(true)
	go w.Run(ctx)

	lamp, err := fulfil(ctx, client, Order{ID: "o-1", Item: "lamp", Cents: 49_90}, time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	var failed *cyclone.RunError
	if err := lamp.Wait(ctx); !errors.As(err, &failed) {
		log.Fatal("the order has not failed: ", err)
	}
	fmt.Printf("o-1: the run has failed at %s: %s\n", failed.Node, failed.Message)
	show(ctx, client, lamp)

	// An operator opens the failed node again. What its failure had cancelled comes
	// back, and what had completed does not run again.
	s.bankIsAway.Store(false)
	if err := client.Retry(ctx, lamp.ID(), "charge", cyclone.RetryReason("the bank is back")); err != nil {
		log.Fatal(err)
	}
	// A signal may come before the run waits for it.
	if err := client.Signal(ctx, lamp.ID(), "approval", Approval{By: "Ada"}); err != nil {
		log.Fatal(err)
	}
	if err := lamp.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	show(ctx, client, lamp)

	// Nobody approves the second one.
	piano, err := fulfil(ctx, client, Order{ID: "o-2", Item: "piano", Cents: 9_000_00}, 200*time.Millisecond)
	if err != nil {
		log.Fatal(err)
	}
	if err := piano.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	show(ctx, client, piano)
}

// show prints where the nodes of a run stand.
func show(ctx context.Context, client *queue.Client, run *cyclone.Run) {
	steps, err := client.ListSteps(ctx, run.ID())
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range steps {
		fmt.Printf("     %-8s %s\n", step.Node, step.State)
	}
}
