// Nightly exports every account by a run of its own shape: one part for each account
// that there is tonight, and one report about all of them. A part that fails does not
// take the others along.
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
	"github.com/cyclone-queue/cyclone/workflow"
)

// Part is what came of one account; its zero value stands for a part that failed.
type Part struct {
	Account string `json:"account"`
	Rows    int    `json:"rows"`
}

// Export exports one account.
var Export = cyclone.NewStep("export_account", func(_ cyclone.Context, account string) (Part, error) {
	if account == "initech" {
		return Part{}, errors.New("its database is away")
	}
	return Part{Account: account, Rows: 100 * len(account)}, nil
}, cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{20 * time.Millisecond}}))

// Report puts the parts together, in the order in which they were listed.
var Report = cyclone.NewStep("report", func(_ cyclone.Context, parts []Part) (string, error) {
	var b strings.Builder
	rows, missing := 0, 0
	for _, part := range parts {
		if part.Account == "" {
			missing++
			continue
		}
		fmt.Fprintf(&b, "%s: %d rows\n", part.Account, part.Rows)
		rows += part.Rows
	}
	fmt.Fprintf(&b, "%d rows in all, %d parts are missing", rows, missing)
	return b.String(), nil
})

// Nightly lists the accounts and starts the run that exports them.
var Nightly = cyclone.DeclareStep[string, cyclone.RunID]("nightly")

// exporter has the handler of Nightly and what it needs.
type exporter struct {
	client   *queue.Client
	accounts func(context.Context) ([]string, error)
}

// start builds the run. A handler may start more than once, so the run is unique: the
// second start finds the first one's. The night is in the key.
func (e *exporter) start(ctx cyclone.Context, night string) (cyclone.RunID, error) {
	accounts, err := e.accounts(ctx)
	if err != nil {
		return 0, err
	}
	b := workflow.New("export", cyclone.WithUnique(cyclone.Unique{Key: night, Scope: cyclone.For(24 * time.Hour)}))
	parts := make([]workflow.Ref[Part], len(accounts))
	for i, account := range accounts {
		parts[i] = workflow.Run(b, "export-"+account, Export, workflow.Value(account))
	}
	report := workflow.Run(b, "report", Report, workflow.All(parts...), workflow.OnDepFailure(workflow.RunAnyway))
	run, err := workflow.EnqueueFor(ctx, e.client, report)
	if err != nil {
		return 0, err
	}
	return run.ID(), nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	e := &exporter{client: client, accounts: func(context.Context) ([]string, error) {
		return []string{"acme", "globex", "initech", "umbrella"}, nil
	}}
	w.Register(Nightly.Handle(e.start), Export, Report)
	go w.Run(ctx)

	// What a scheduler does once a night.
	started, err := cyclone.EnqueueStep(ctx, client, Nightly, "2031-05-17", cyclone.WithRequestKey("nightly-2031-05-17"))
	if err != nil {
		log.Fatal(err)
	}
	id, err := started.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	report, err := cyclone.AttachOf[string](client, id).Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report)

	steps, err := client.ListSteps(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range steps {
		if step.State == cyclone.StepExhausted {
			fmt.Printf("%s: %s after %d attempts: %s\n", step.Node, step.State, step.Attempts, step.Error)
		}
	}
}
