// Retries shows what becomes of the errors of a handler: an ordinary one is tried
// again, a permanent one is not, and one with a time of its own is tried then.
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

// DeliverWebhook gets 4 attempts with short waits in between; the defaults are 5
// attempts, and waits from 5 seconds to one hour.
var DeliverWebhook = cyclone.NewAction("deliver_webhook", deliverWebhook,
	cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 4, Delays: []time.Duration{20 * time.Millisecond}}),
	cyclone.WithRetention(time.Minute),
)

// deliverWebhook plays the receivers: each fails in its own way.
func deliverWebhook(ctx cyclone.Context, receiver string) error {
	fmt.Printf("%s: attempt %d of %d\n", receiver, ctx.Attempt(), ctx.MaxAttempts())
	switch receiver {
	case "flaky":
		if ctx.Attempt() < 3 {
			return errors.New("503 Service Unavailable")
		}
	case "busy":
		if ctx.Attempt() < 2 {
			return cyclone.RetryAfter(errors.New("429 Too Many Requests"), 50*time.Millisecond)
		}
	case "gone":
		return cyclone.Permanent(errors.New("410 Gone"))
	case "down":
		return errors.New("connection refused")
	}
	return nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(DeliverWebhook)
	go w.Run(ctx)

	for _, receiver := range []string{"flaky", "busy", "gone", "down"} {
		run, err := cyclone.EnqueueAction(ctx, client, DeliverWebhook, receiver)
		if err != nil {
			log.Fatal(err)
		}
		var failed *cyclone.RunError
		switch err := run.Wait(ctx); {
		case err == nil:
			fmt.Printf("%s: completed\n\n", receiver)
		case errors.As(err, &failed):
			fmt.Printf("%s: %s after %d attempts: %s (%s)\n\n", receiver, failed.State, failed.Attempts, failed.Message, failed.Code)
		default:
			log.Fatal(err)
		}
	}
}
