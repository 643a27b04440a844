// Unique shows what a second enqueue with a key gets while the first one holds it.
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

// Report is the input of BuildReport.
type Report struct {
	Account string
	Until   string
}

// BuildReport is unique by its account, not by the whole input.
var BuildReport = cyclone.NewStep("build_report",
	func(_ cyclone.Context, in Report) (string, error) { return "report until " + in.Until, nil },
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})

	// enqueue asks for a report of one account while no other one is unfinished.
	enqueue := func(until string, conflict cyclone.Conflict) (*cyclone.RunOf[string], error) {
		return cyclone.EnqueueStep(ctx, client, BuildReport, Report{Account: "ada", Until: until},
			cyclone.WithUnique(cyclone.Unique{Key: "ada", OnConflict: conflict}))
	}

	first, err := enqueue("May", cyclone.Existing)
	if err != nil {
		log.Fatal(err)
	}
	again, err := enqueue("June", cyclone.Existing)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("existing: the same run:", again.ID() == first.ID() && again.Existing())

	_, err = enqueue("July", cyclone.Reject)
	var duplicate *cyclone.DuplicateError
	fmt.Println("reject: refused, and told who holds the key:", errors.As(err, &duplicate) && duplicate.Holder == first.ID())

	replaced, err := enqueue("August", cyclone.Replace)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("replace: the same run, with a new input:", replaced.ID() == first.ID())

	// A request key makes it safe to repeat an enqueue whose answer was lost.
	order := cyclone.WithRequestKey("order-17-paid")
	one, err1 := cyclone.EnqueueStep(ctx, client, BuildReport, Report{Account: "bob"}, order)
	two, err2 := cyclone.EnqueueStep(ctx, client, BuildReport, Report{Account: "bob"}, order)
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	fmt.Println("request key: one run for two requests:", one.ID() == two.ID())

	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(BuildReport)
	go w.Run(ctx)
	text, err := first.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("what ran:", text)

	next, err := enqueue("September", cyclone.Existing)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the key is free again:", next.ID() != first.ID())

	// For holds the key for a time instead, finished or not.
	hourly := cyclone.WithUnique(cyclone.Unique{Key: "digest", Scope: cyclone.For(time.Hour)})
	digest, err := cyclone.EnqueueStep(ctx, client, BuildReport, Report{Account: "all"}, hourly)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := digest.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	later, err := cyclone.EnqueueStep(ctx, client, BuildReport, Report{Account: "all"}, hourly)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("once an hour: nothing new:", later.Existing())
}
