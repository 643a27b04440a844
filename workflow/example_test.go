package workflow_test

import (
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

// All that is wrong with a definition comes back together.
func ExampleBuilder_Err() {
	type Order struct{ ID string }
	type Receipt struct{ Number string }
	charge := cyclone.DeclareStep[Order, Receipt]("charge")
	file := cyclone.DeclareAction[Receipt]("file")

	b := workflow.New("order")
	receipt := workflow.Run(b, "charge", charge, workflow.Value(Order{"o-1"}), cyclone.WithMaxAttempts(0))
	workflow.Do(b, "file", file, receipt)
	workflow.Do(b, "file", file, receipt, workflow.After(workflow.Node{}))

	fmt.Println(b.Err())
	// Output:
	// workflow: "order" cannot be enqueued:
	// - node charge: max attempts 0: must be 1 to 10000
	// - node file: after: the reference is empty: take what Do, Run or a wait has returned
	// - node file: the name is taken by another node
}
