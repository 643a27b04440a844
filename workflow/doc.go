// Package workflow builds runs of many steps: each node runs an action, a step
// or a task, takes its input from values and from the outputs of other nodes, and
// starts when all that it depends on has ended.
//
//	b := workflow.New("order")
//	charge := workflow.Run(b, "charge", Charge, workflow.Value(order))
//	label := workflow.Run(b, "label", PrintLabel, workflow.Value(order))
//	workflow.Do(b, "ship", Ship, label, workflow.After(charge))
//	run, err := b.Enqueue(ctx, client)
//
// A [Ref] is the output of a node before there is one. It is an [Input] of its
// type, so that an input of the wrong type is a compile error. A node can refer
// only to nodes that were added before it: there is no way to build a cycle.
//
// Nothing is checked one by one. A mistake in the definition, such as a name given
// twice or an option that is out of range, is kept until the run is enqueued; then
// all of them come back together in a [BuilderError], and nothing has been written.
//
// A failure of one node fails the run, unless everything downstream of it declares
// otherwise with [OnDepFailure].
//
// A task starts a workflow as a child and waits for it with [RunChildFor] and
// [Builder.RunChild].
//
// Limits: 20,000 nodes, 100,000 dependencies, and for each node's input what the
// client's configuration allows (1 MiB unless it says otherwise).
package workflow
