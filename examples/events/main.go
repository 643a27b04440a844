// Events shows what happens to steps as it happens: to a subscriber anywhere, and to
// the process that causes it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Charge snoozes first, fails then, and succeeds in the end.
var Charge = cyclone.NewAction("charge", charge,
	cyclone.WithBackoff(func(int) time.Duration { return 10 * time.Millisecond }))

var calls atomic.Int32

func charge(cyclone.Context, int) error {
	switch calls.Add(1) {
	case 1:
		return cyclone.Snooze(10 * time.Millisecond)
	case 2:
		return errors.New("card reader offline")
	}
	return nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	// In the process: called for what this client and its workers do.
	var seen atomic.Int32
	client := devredis.Client(queue.Config{}, cyclone.WithOnStepEvent(func(cyclone.StepEvent) { seen.Add(1) }))

	// Across processes: in place when Subscribe returns.
	subscription, err := client.Subscribe(ctx, queue.EventFilter{Queues: []string{"default"}})
	if err != nil {
		log.Fatal(err)
	}
	defer subscription.Close()

	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(Charge)
	go w.Run(ctx)
	if _, err := cyclone.EnqueueAction(ctx, client, Charge, 42_00); err != nil {
		log.Fatal(err)
	}

	for event, err := range subscription.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Type, "→", event.State, cmp.Or(event.Error, "·"))
		if event.State.Finished() {
			break
		}
	}
	fmt.Println("seen in the process as well:", seen.Load() > 0)
}
