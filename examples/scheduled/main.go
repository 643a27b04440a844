// Scheduled shows steps that wait for a time: a delay, a start time, one that gives
// up when it starts too late, and one that an operator runs early.
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

var Remind = cyclone.NewAction("remind",
	func(_ cyclone.Context, text string) error {
		fmt.Println("remind:", text)
		return nil
	}, cyclone.WithRetention(time.Minute))

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	remind := func(text string, opts ...cyclone.EnqueueOption) *cyclone.Run {
		run, err := cyclone.EnqueueAction(ctx, client, Remind, text, opts...)
		if err != nil {
			log.Fatal(err)
		}
		return run
	}

	nextYear := remind("an early happy new year", cyclone.WithStartAt(time.Now().AddDate(1, 0, 0)))
	soon := remind("the kettle", cyclone.WithDelay(200*time.Millisecond))
	sooner := remind("the phone", cyclone.WithStartAt(time.Now().Add(100*time.Millisecond)))
	stale := remind("yesterday's news", cyclone.WithExpiry(time.Millisecond))

	// The worker starts late, too late for the last one.
	time.Sleep(10 * time.Millisecond)
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(Remind)
	go w.Run(ctx)

	var failed *cyclone.RunError
	if errors.As(stale.Wait(ctx), &failed) {
		fmt.Println("not any more:", failed.Code)
	}
	if err := errors.Join(sooner.Wait(ctx), soon.Wait(ctx)); err != nil {
		log.Fatal(err)
	}

	info, err := client.GetRun(ctx, nextYear.ID())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the other one is", info.Steps[0].State)
	if err := client.RunNow(ctx, nextYear.ID()); err != nil {
		log.Fatal(err)
	}
	if err := nextYear.Wait(ctx); err != nil {
		log.Fatal(err)
	}
}
