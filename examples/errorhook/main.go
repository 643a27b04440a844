// Errorhook sends what goes wrong to an error tracker: every failed attempt and
// every discard, panics with their stacks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

var errNoRate = errors.New("no exchange rate")

var Convert = cyclone.NewAction("convert",
	func(_ cyclone.Context, currency string) error {
		code := strings.Fields(currency)[0] // panics when there is none
		return fmt.Errorf("%s: %w", code, errNoRate)
	},
	cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{10 * time.Millisecond}}))

// track stands for the client of an error tracker. The error is the handler's own,
// so errors.Is and errors.As work.
func track(_ cyclone.Context, f worker.Failure) {
	level := "warning"
	if f.Discarded {
		level = "error"
	}
	fmt.Printf("[%s] %s attempt %d: %v (%s)", level, f.Kind, f.Attempt, f.Err, f.Code)
	if strings.Contains(f.Stack, "main.") {
		fmt.Print(" with a stack")
	}
	fmt.Println()
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{OnFailure: track})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(Convert)
	go w.Run(ctx)

	for _, currency := range []string{"XYZ", ""} {
		run, err := cyclone.EnqueueAction(ctx, client, Convert, currency)
		if err != nil {
			log.Fatal(err)
		}
		var failed *cyclone.RunError
		if err := run.Wait(ctx); !errors.As(err, &failed) {
			log.Fatal(err)
		}
	}
}
