// Snooze shows a handler that puts its step back until a rate limit has passed. A
// snooze uses up no attempt, however often it happens.
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

// errRateLimited is what the API answers with when it is called too often.
var errRateLimited = errors.New("429 Too Many Requests")

// api is an HTTP API that refuses the first calls.
type api struct{ refuse int }

// call returns how long to wait beside errRateLimited.
func (a *api) call() (retryAfter time.Duration, err error) {
	if a.refuse > 0 {
		a.refuse--
		return 50 * time.Millisecond, errRateLimited
	}
	return 0, nil
}

// sync is the handler; one attempt is enough for any number of snoozes.
func (a *api) sync(ctx cyclone.Context, account string) (string, error) {
	retryAfter, err := a.call()
	if errors.Is(err, errRateLimited) {
		fmt.Printf("attempt %d: rate limited, snoozing for %v\n", ctx.Attempt(), retryAfter)
		return "", cyclone.Snooze(retryAfter)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("attempt %d: synced %s", ctx.Attempt(), account), nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limited := &api{refuse: 2}
	SyncAccount := cyclone.NewStep("sync_account", limited.sync, cyclone.WithMaxAttempts(1))
	w.Register(SyncAccount)
	go w.Run(ctx)

	run, err := cyclone.EnqueueStep(ctx, client, SyncAccount, "ada")
	if err != nil {
		log.Fatal(err)
	}
	text, err := run.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}
