// Queues shows in which order a worker takes what is ready: by priority within a
// queue, and between queues by weight or in a strict order.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// order collects what ran, in that order, and ends the worker after some of it.
type order struct {
	mu     sync.Mutex
	ran    []string
	enough int
	stop   context.CancelFunc
}

func (o *order) handle(_ context.Context, name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ran = append(o.ran, name); len(o.ran) == o.enough {
		o.stop()
	}
	return nil
}

// run serves the queues one step at a time until enough have run.
func run(client *queue.Client, cfg worker.Config, enough int) []string {
	ctx, stop := context.WithCancel(context.Background())
	o := &order{enough: enough, stop: stop}
	cfg.Concurrency = 1
	w, err := worker.New(client, cfg)
	if err != nil {
		log.Fatal(err)
	}
	w.Register(cyclone.NewAction("note", o.handle))
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	return o.ran
}

var note = cyclone.DeclareAction[string]("note")

func main() {
	client := devredis.Client(queue.Config{})
	enqueue := func(requests ...cyclone.Request) {
		if _, err := cyclone.EnqueueMany(context.Background(), client, requests...); err != nil {
			log.Fatal(err)
		}
	}

	enqueue(
		note.With("tidy up", cyclone.WithPriority(cyclone.Low)),
		note.With("first mail"),
		note.With("second mail"),
		note.With("fire alarm", cyclone.WithPriority(cyclone.High)),
	)
	fmt.Println("priorities:", run(client, worker.Config{}, 4))

	enqueue(
		note.With("export", cyclone.WithQueue("bulk")),
		note.With("password reset", cyclone.WithQueue("urgent")),
		note.With("login code", cyclone.WithQueue("urgent")),
	)
	strict := worker.Config{Strict: true, Queues: worker.Queues("urgent", "bulk")}
	fmt.Println("strict order:", run(client, strict, 3))

	for range 200 {
		enqueue(note.With("paying", cyclone.WithQueue("paying")), note.With("free", cyclone.WithQueue("free")))
	}
	weighted := worker.Config{Queues: []worker.Queue{{Name: "paying", Weight: 3}, {Name: "free", Weight: 1}}}
	count := map[string]int{}
	for _, queue := range run(client, weighted, 200) {
		count[queue]++
	}
	fmt.Println("weights: about three of four are paying:", count["paying"] > 120 && count["free"] > 20)
}
