package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// A go-redis client of any topology will do, and may be shared with the rest of the
// program.
func ExampleNewClient() {
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer rdb.Close()
	client, err := queue.NewClient(rdb, queue.Config{Prefix: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
}

// Every discarded step of a queue, page by page.
func ExampleClient_List() {
	var client *queue.Client
	ctx := context.Background()
	query := queue.ListQuery{Queue: "mail", State: cyclone.StepExhausted}
	for {
		page, err := client.List(ctx, query)
		if err != nil {
			log.Fatal(err)
		}
		for _, step := range page.Steps {
			fmt.Println(step.RunID, step.Kind, step.Code, step.Error)
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
}

// What fails, as it happens, in any process.
func ExampleClient_Subscribe() {
	var client *queue.Client
	ctx := context.Background()
	subscription, err := client.Subscribe(ctx, queue.EventFilter{Types: []cyclone.EventType{cyclone.EventFailed}})
	if err != nil {
		log.Fatal(err)
	}
	defer subscription.Close()
	for event, err := range subscription.Events(ctx) {
		switch {
		case errors.Is(err, queue.ErrLagged):
			log.Print("some events are missing")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(event.RunID, event.Kind, event.Attempt, event.Error)
		}
	}
}

// Everything that a provider's outage has discarded gets three more attempts.
func ExampleClient_RetryMatching() {
	var client *queue.Client
	done, err := client.RetryMatching(context.Background(),
		queue.Filter{Queue: "mail", ErrorContains: "connection refused"}, nil,
		cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("the provider is back"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Done, "steps are ready again")
}

// Nobody has approved in time, and nobody will: the wait has timed out.
func ExampleClient_RunNodeNow() {
	var client *queue.Client
	var runID cyclone.RunID
	ctx := context.Background()
	err := client.RunNodeNow(ctx, runID, "approval")
	switch {
	case errors.Is(err, queue.ErrBlocked):
		fmt.Println(err) // and what it waits for
	case errors.Is(err, queue.ErrAwaitsSignal):
		err = client.Signal(ctx, runID, "approval", false)
	}
	if err != nil {
		log.Print(err)
	}
}
