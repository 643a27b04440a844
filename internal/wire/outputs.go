package wire

// OutputsKey is the key under which the context of a workflow's node carries its
// [Outputs].
type OutputsKey struct{}

// Outputs are the outputs of the nodes that a node depends on. They are safe for
// concurrent use.
type Outputs interface {
	// Output decodes the output of a dependency into the value that into points to.
	// found is false when the node depends on no node of that name, or that one has
	// no output.
	Output(node string, into any) (found bool, err error)
}
