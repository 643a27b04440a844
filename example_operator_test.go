package cyclone_test

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
)

// operator is what these examples need of the Client of package queue.
type operator interface {
	ListSteps(ctx context.Context, run cyclone.RunID) ([]cyclone.StepInfo, error)
	Retry(ctx context.Context, run cyclone.RunID, node string, opts ...cyclone.RetryOption) error
	RetryAll(ctx context.Context, run cyclone.RunID, opts ...cyclone.RetryOption) error
}

var _ operator = (*queue.Client)(nil)

// printDiscarded shows which steps of a run have failed for good.
func printDiscarded(ctx context.Context, client operator, runID cyclone.RunID) error {
	steps, err := client.ListSteps(ctx, runID)
	if err != nil {
		return err
	}

	for _, step := range steps {
		if step.State == cyclone.StepExhausted {
			fmt.Printf("%s failed after %d attempts: %s\n",
				step.Node, step.Attempts, step.Error)
		}
	}
	return nil
}

func Example_inspectDiscardedSteps() {
	if err := printDiscarded(context.Background(), cannedOperator{}, 12345); err != nil {
		fmt.Println(err)
	}
	// Output: send_email failed after 5 attempts: smtp: connection refused
}

// reopenEmail opens one discarded step of a run again.
func reopenEmail(ctx context.Context, client operator, runID cyclone.RunID) error {
	err := client.Retry(ctx, runID, "send_email",
		cyclone.RetryAdditionalAttempts(3),
		cyclone.RetryReason("SMTP provider recovered"),
	)
	return err
}

// reopenAll opens every discarded step of a failed run again.
func reopenAll(ctx context.Context, client operator, runID cyclone.RunID) error {
	err := client.RetryAll(ctx, runID,
		cyclone.RetryAdditionalAttempts(3),
		cyclone.RetryReason("operator retry after provider outage"),
	)
	return err
}

// When the problem was external, discarded steps are opened again after the fix.
func ExampleRetryAdditionalAttempts() {
	ctx := context.Background()
	fmt.Println(reopenEmail(ctx, cannedOperator{}, 12345))
	fmt.Println(reopenAll(ctx, cannedOperator{}, 12345))
	// Output:
	// send_email of run 12345: 3 more, since SMTP provider recovered
	// <nil>
	// all of run 12345: 3 more, since operator retry after provider outage
	// <nil>
}

// cannedOperator knows one run and prints what it is asked to do.
type cannedOperator struct{}

func (cannedOperator) ListSteps(_ context.Context, run cyclone.RunID) ([]cyclone.StepInfo, error) {
	return []cyclone.StepInfo{
		{RunID: run, Node: "render", State: cyclone.StepCompleted, Attempts: 1},
		{RunID: run, Node: "send_email", State: cyclone.StepExhausted, Attempts: 5, Error: "smtp: connection refused"},
	}, nil
}

func (c cannedOperator) Retry(_ context.Context, run cyclone.RunID, node string, opts ...cyclone.RetryOption) error {
	return c.reopen(fmt.Sprintf("%s of run %v", node, run), opts)
}

func (c cannedOperator) RetryAll(_ context.Context, run cyclone.RunID, opts ...cyclone.RetryOption) error {
	return c.reopen(fmt.Sprintf("all of run %v", run), opts)
}

func (cannedOperator) reopen(what string, opts []cyclone.RetryOption) error {
	var r wire.Reopen
	for _, opt := range opts {
		opt.ApplyRetry(&r)
	}
	fmt.Printf("%s: %d more, since %s\n", what, r.Attempts(), r.Reason)
	return r.Validate()
}
