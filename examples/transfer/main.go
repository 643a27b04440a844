// Transfer moves money between two balances in Redis and sends a receipt, by the
// completion transaction: all of it happens with the completion of the step, once, or
// not at all, however often the handler runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Order is to move Cents from one account to another.
type Order struct {
	From, To string
	Cents    int64
}

// Keys are where the two balances are kept.
type Keys struct{ From, To string }

// Transfer is a step: it tells where the balances are.
var Transfer = cyclone.NewStep("transfer", transfer,
	cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{20 * time.Millisecond}}))

func transfer(ctx cyclone.Context, in Order) (Keys, error) {
	tx := ctx.CompletionTx()
	keys := Keys{From: tx.Key("balance:" + in.From), To: tx.Key("balance:" + in.To)}
	err := errors.Join(
		tx.IncrBy(keys.From, -in.Cents),
		tx.IncrBy(keys.To, in.Cents),
		tx.Enqueue(SendReceipt.With(in)),
	)
	if err != nil {
		return Keys{}, err
	}
	if ctx.Attempt() == 1 {
		fmt.Println("attempt 1 fails: nothing of it is written")
		return Keys{}, errors.New("the network had a bad moment")
	}
	return keys, nil
}

// SendReceipt runs once for each transfer that took place.
var SendReceipt = cyclone.DeclareAction[Order]("send_receipt")

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	sent := make(chan Order)
	w.Register(Transfer, SendReceipt.Handle(func(_ cyclone.Context, in Order) error {
		sent <- in
		return nil
	}))
	go w.Run(ctx)

	run, err := cyclone.EnqueueStep(ctx, client, Transfer, Order{From: "ada", To: "bob", Cents: 25_00})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := run.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	receipt := <-sent
	fmt.Printf("receipt: %s gave %s %d cents\n", receipt.From, receipt.To, receipt.Cents)

	opts, err := redis.ParseURL(devredis.URL())
	if err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	balances, err := rdb.MGet(ctx, keys.From, keys.To).Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("balances of ada and bob:", balances[0], balances[1])
}
