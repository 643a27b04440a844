package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// A task that decides at run time how many nodes there are, and waits for the result.
func ExampleRunChildFor() {
	measure := cyclone.NewStep("measure", func(_ context.Context, page string) (int, error) { return len(page), nil })
	sum := cyclone.NewStep("sum", func(_ context.Context, sizes []int) (total int, err error) {
		for _, n := range sizes {
			total += n
		}
		return total, nil
	})
	crawl := cyclone.NewTask("crawl", cyclone.HandlerFunc(func(ctx cyclone.Context, pages []string) (string, error) {
		b := workflow.New("pages")
		sizes := make([]workflow.Ref[int], len(pages))
		for i, page := range pages {
			sizes[i] = workflow.Run(b, fmt.Sprintf("page-%d", i), measure, workflow.Value(page))
		}
		total, err := workflow.RunChildFor(ctx, "measure", workflow.Run(b, "total", sum, workflow.All(sizes...)))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d pages, %d bytes", len(pages), total), nil
	}))

	client := devredis.Client(queue.Config{})
	defer client.Close()
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(measure, sum, crawl)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	run, err := cyclone.EnqueueTask(ctx, client, crawl, []string{"hello", "you", "there"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Wait(ctx))
	stop()
	<-done
	// Output:
	// 3 pages, 13 bytes <nil>
}
