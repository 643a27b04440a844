package workflow_test

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

// A workflow that is enqueued if and only if the order is counted, in the same instant.
func ExampleBuilder_EnqueueTx() {
	shipped := make(chan string)
	pack := cyclone.NewStep("pack", func(_ context.Context, order string) (string, error) { return "parcel of " + order, nil })
	ship := cyclone.NewAction("ship", func(_ context.Context, parcel string) error {
		shipped <- parcel
		return nil
	})
	place := cyclone.NewAction("place", func(ctx cyclone.Context, order string) error {
		tx := ctx.CompletionTx()
		if err := tx.IncrBy(tx.Key("orders"), 1); err != nil {
			return err
		}
		b := workflow.New("fulfil")
		workflow.Do(b, "ship", ship, workflow.Run(b, "pack", pack, workflow.Value(order)))
		return b.EnqueueTx(tx)
	})

	client := devredis.Client(queue.Config{})
	defer client.Close()
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(pack, ship, place)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	if _, err := cyclone.EnqueueAction(ctx, client, place, "o-1"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-shipped)
	stop()
	<-done
	// Output:
	// parcel of o-1
}
