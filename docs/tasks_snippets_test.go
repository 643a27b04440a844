package docs

// tasks.md and signals-and-waits.md, compiled. The onboarding task stands in
// examples/onboarding.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

type paidEvent struct{ ID string }

var (
	charge, release func(context.Context) (string, error)
	reserve         func(ctx context.Context, what string) error
	RenderInvoice   = cyclone.DeclareStep[Order, []byte]("render_invoice")
)

func chargeOrUndo() (string, error) {
	_, err := step.Do(ctx, "charge", charge)
	var failed *step.Error
	if errors.As(err, &failed) {
		if _, undo := step.Do(ctx, "release-stock", release); undo != nil {
			return "", undo
		}
	}
	return "", err
}

func decline(receipt string, err error) (string, error) {
	return receipt, retry.WithMark(err, retry.Mark{Outcome: retry.OutcomeDiscard, Code: "card_declined"})
}

func coolOff() (string, error) {
	if err := step.Sleep(ctx, "cooling-off", 14*24*time.Hour); err != nil {
		return "", err
	}
	return "cool", nil
}

func invoice(order Order) ([]byte, error) {
	pdf, err := step.Run(ctx, "invoice", RenderInvoice, order, cyclone.WithQueue("render"))
	return pdf, err
}

func crawl(urls []string) (int, error) {
	b := workflow.New("pages")
	sizes := make([]workflow.Ref[int], len(urls))
	for i, url := range urls {
		sizes[i] = workflow.Run(b, fmt.Sprintf("page-%d", i), Crawl, workflow.Value(url))
	}
	total, err := workflow.RunChildFor(ctx, "crawl", workflow.Run(b, "total", Sum, workflow.All(sizes...)))
	return total, err
}

func travel() error {
	err := step.Parallel(ctx,
		func(ctx context.Context) error { return reserve(ctx, "flight") },
		func(ctx context.Context) error { return reserve(ctx, "hotel") },
	)
	return err
}

func confirm() error {
	err := client.Signal(ctx, runID, "confirmed", "ada@example.com")
	return err
}

func paid(event paidEvent) error {
	err := client.Signal(ctx, runID, "paid", event, queue.SignalKey(event.ID))
	return err
}

// The functions are here to be compiled.
var _ = []any{chargeOrUndo, decline, coolOff, invoice, crawl, travel, confirm, paid}
