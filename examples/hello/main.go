package main

import (
	"context"
	"fmt"
	"log"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

var Greet = cyclone.NewStep("greet", func(ctx cyclone.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
})

func main() {
	ctx := context.Background()
	client, err := queue.Open(devredis.URL(), queue.Config{}) // or "redis://…", your own
	if err != nil {
		log.Fatal(err)
	}
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(Greet)
	go w.Run(ctx)

	run, err := cyclone.EnqueueStep(ctx, client, Greet, "Ada") // from any process
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Wait(ctx))
}
