package cyclone_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// afterTheFix is what an operator types.
const afterTheFix = `
cyclone retry 12345 send_email
cyclone retry 12345 --all
`

// shell runs a command line as a terminal would, and tells how it ended.
func shell(ctx context.Context, redis, line string) {
	code := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: os.Stderr, LookupEnv: func(name string) (string, bool) {
		if name != "CYCLONE_REDIS" {
			return "", false
		}
		return redis, true
	}}, strings.Fields(line)[1:]...)
	fmt.Println("$", line, "ended with", code)
}

// The command line has the operator's methods too.
func Example_retryFromAShell() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, err := queue.Open(server.URL(), queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	rdb := server.Client()
	defer rdb.Close()
	rdb.Set(ctx, "cyclone:{0}:ids", 12344, 0) // as though there had been that many runs

	var back atomic.Bool
	send := func(cyclone.Context, string) error {
		if back.Load() {
			return nil
		}
		return errors.New("smtp: connection refused")
	}
	email := cyclone.NewAction("email", send, cyclone.WithBackoff(func(int) time.Duration { return 0 }))
	b := workflow.New("notify")
	sent := workflow.Do(b, "send_email", email, workflow.Value("ada@example.com"))
	copied := workflow.Do(b, "send_copy", email, workflow.Value("archive@example.com"))
	workflow.Do(b, "log", email, workflow.Value(""), workflow.After(sent, copied), workflow.OnDepFailure(workflow.CancelBranch))

	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w.Register(email)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()
	run, err := b.Enqueue(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("run", run.ID(), run.Wait(ctx))
	fmt.Println(printDiscarded(ctx, client, run.ID()))
	back.Store(true)
	for line := range strings.Lines(strings.TrimSpace(afterTheFix)) {
		shell(ctx, server.URL(), strings.TrimSpace(line))
		fmt.Println(run.Wait(ctx))
		fmt.Println(printDiscarded(ctx, client, run.ID()))
	}
	cancel()
	<-done
	// Output:
	// run 12345 <nil>
	// send_email failed after 5 attempts: smtp: connection refused
	// send_copy failed after 5 attempts: smtp: connection refused
	// <nil>
	// $ cyclone retry 12345 send_email ended with 0
	// <nil>
	// send_copy failed after 5 attempts: smtp: connection refused
	// <nil>
	// $ cyclone retry 12345 --all ended with 0
	// <nil>
	// <nil>
}
