// Package misuse does not compile: each line that ends in a comment is one use of
// the builder with the wrong types, and the comment is a part of what the compiler
// says to it.
package misuse

import (
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

type order struct{ ID string }

type payment struct{ Cents int }

var (
	b      = workflow.New("fulfil")
	charge = cyclone.DeclareStep[order, payment]("charge")
	refund = cyclone.DeclareAction[payment]("refund")
	value  = workflow.Value(order{})
	paid   = workflow.Run(b, "charge", charge, value)
	node   = workflow.Do(b, "refund", refund, paid)
	in     struct{ Payment payment }
)

func misuse() {
	workflow.Do(b, "n", refund, value)                                                                // Input
	workflow.Do(b, "n", refund, node)                                                                 // Input
	workflow.Do(b, "n", refund, payment{})                                                            // Input
	workflow.Do(b, "n", charge, value)                                                                // Action
	workflow.Run(b, "n", refund, paid)                                                                // Returning
	workflow.Run(b, "n", charge, paid)                                                                // Input
	workflow.Run(b, "n", charge, workflow.All(paid))                                                  // Input
	workflow.Bind(&in.Payment.Cents, paid)                                                            // Ref
	workflow.Do(b, "n", refund, paid, workflow.After(refund))                                         // Dependency
	workflow.Do(b, "n", refund, paid, workflow.CancelBranch)                                          // NodeOption
	workflow.Do(b, "n", refund, paid, workflow.WithDeadline(time.Second))                             // NodeOption
	workflow.Do(b, "n", refund, paid, cyclone.WithUnique(cyclone.Unique{}))                           // NodeOption
	workflow.New("n", cyclone.WithQueue("q"))                                                         // RunOption
	workflow.New("n", workflow.OnDepFailure(workflow.FailRun))                                        // RunOption
	refund.With(payment{}, workflow.OnDepFailure(workflow.CancelBranch))                              // EnqueueOption
	cyclone.NewAction("n", func(cyclone.Context, payment) error { return nil }, workflow.After(node)) // DefinitionOption
}
