package docs

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

// workflows.md, and the workflow of exactly-once-effects.md, compiled.

type (
	Order    struct{ ID string }
	Receipt  struct{ Number string }
	Label    struct{ Tracking string }
	Approval struct{ By string }
	Parcel   struct {
		Order   Order   `json:"order"`
		Receipt Receipt `json:"receipt"`
		Label   Label   `json:"label"`
	}
)

var (
	ChargeCard = cyclone.DeclareStep[Order, Receipt]("charge")
	PrintLabel = cyclone.DeclareStep[Order, Label]("print_label", cyclone.WithQueue("print"))
	Pack       = cyclone.DeclareStep[Parcel, Label]("pack")
	Ship       = cyclone.DeclareAction[Label]("ship")
	Notify     = cyclone.DeclareAction[Order]("notify")
	Crawl      = cyclone.DeclareStep[string, int]("crawl")
	Sum        = cyclone.DeclareStep[[]int, int]("sum")
	Pay        = cyclone.DeclareAction[Approval]("pay")
	CleanUp    = cyclone.DeclareAction[Order]("clean_up")
	Suggest    = cyclone.DeclareStep[Order, Label]("suggest")
	Promote    = cyclone.DeclareAction[Label]("promote")
)

func fulfil(order Order) error {
	b := workflow.New("order", cyclone.WithUnique(cyclone.Unique{Key: order.ID}))

	receipt := workflow.Run(b, "charge", ChargeCard, workflow.Value(order))
	label := workflow.Run(b, "label", PrintLabel, workflow.Value(order))

	in := Parcel{Order: order}
	packed := workflow.Run(b, "pack", Pack, workflow.Join(&in,
		workflow.Bind(&in.Receipt, receipt),
		workflow.Bind(&in.Label, label)))

	workflow.Do(b, "ship", Ship, packed, cyclone.WithMaxAttempts(10))
	workflow.Do(b, "notify", Notify, workflow.Value(order), workflow.After(packed))

	run, err := b.Enqueue(ctx, client)
	if err != nil {
		return err
	}
	return run.Wait(ctx)
}

func fanOut(urls []string) (int, error) {
	b := workflow.New("crawl", workflow.WithDeadline(time.Hour))
	sizes := make([]workflow.Ref[int], len(urls))
	for i, url := range urls {
		sizes[i] = workflow.Run(b, fmt.Sprintf("page-%d", i), Crawl, workflow.Value(url))
	}
	total := workflow.Run(b, "total", Sum, workflow.All(sizes...))

	run, err := workflow.EnqueueFor(ctx, client, total)
	if err != nil {
		return 0, err
	}
	return run.Wait(ctx)
}

func readOutput() {
	Notify.Handle(func(ctx cyclone.Context, in Order) error {
		packed, err := cyclone.Output[Label](ctx, "pack")
		if err != nil {
			return err
		}
		return mailer.Send(ctx, in.ID, "on its way: "+packed.Tracking)
	})
}

func branches(b *workflow.Builder, order Order) {
	charged := workflow.Run(b, "charge", ChargeCard, workflow.Value(order))

	// Nice to have: when there is no suggestion there is nothing to promote, and that is all.
	idea := workflow.Run(b, "suggest", Suggest, workflow.Value(order))
	workflow.Do(b, "promote", Promote, idea, workflow.OnDepFailure(workflow.CancelBranch))

	// Runs whether the charge went well or not.
	workflow.Do(b, "clean-up", CleanUp, workflow.Value(order),
		workflow.After(charged), workflow.OnDepFailure(workflow.RunAnyway))
}

func approve(b *workflow.Builder, packed workflow.Node) {
	approval := workflow.WaitSignal[Approval](b, "approval", 72*time.Hour, workflow.After(packed))
	workflow.Do(b, "pay", Pay, approval)
}

var Place = cyclone.NewAction("place", func(ctx cyclone.Context, order Order) error {
	b := workflow.New("order")
	receipt := workflow.Run(b, "charge", ChargeCard, workflow.Value(order))
	workflow.Do(b, "notify", Notify, workflow.Value(order), workflow.After(receipt))
	return b.EnqueueTx(ctx.CompletionTx())
})

func mistakes(b *workflow.Builder) {
	_, err := b.Enqueue(ctx, client)
	var bad *workflow.BuilderError
	if errors.As(err, &bad) {
		for _, mistake := range bad.Errors {
			log.Println(mistake)
		}
	}
}

var _ = []any{fulfil, fanOut, readOutput, branches, approve, mistakes}
