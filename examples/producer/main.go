// Producer enqueues what another process runs. It knows names and inputs, and links
// no handler.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/examples/producer/billing"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// produce is all that the web process does.
func produce(ctx context.Context, client *queue.Client) ([]*cyclone.Run, error) {
	return cyclone.EnqueueMany(ctx, client,
		billing.SendInvoice.With(billing.Invoice{Customer: "Ada", Cents: 12_00}),
		billing.SendInvoice.With(billing.Invoice{Customer: "Bob", Cents: 99_00}, cyclone.WithPriority(cyclone.High)),
	)
}

// consume is what the worker process does: it gives the declaration its handler.
func consume(ctx context.Context, client *queue.Client) error {
	w, err := worker.New(client, worker.Config{Concurrency: 1})
	if err != nil {
		return err
	}
	w.Register(billing.SendInvoice.Handle(func(_ cyclone.Context, in billing.Invoice) error {
		fmt.Printf("%s owes %d.%02d\n", in.Customer, in.Cents/100, in.Cents%100)
		return nil
	}))
	return w.Run(ctx)
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	runs, err := produce(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	go consume(ctx, client) // in one program here, so that there is something to see
	for _, run := range runs {
		if err := run.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
