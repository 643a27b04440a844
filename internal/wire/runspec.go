package wire

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limits of one run of many steps.
const (
	MaxNodes = 20_000
	MaxEdges = 100_000 // dependencies of all nodes together
)

// The kinds of the nodes that every worker serves by itself. Users cannot take
// these names.
const (
	KindWait  = "_wait"  // waits for the signal that is named like the node
	KindSleep = "_sleep" // waits for a time
)

// WaitInput is the input of a node of [KindWait] or [KindSleep].
type WaitInput struct {
	Name      string `json:"name"`       // of the signal, and of the node
	TimeoutMS int64  `json:"timeout_ms"` // KindWait: 0 waits for ever
}

// DepPolicy says what becomes of a node when a dependency of it has ended in
// another way than completed.
type DepPolicy uint8

// The policies.
const (
	DepFail   DepPolicy = iota // the run fails
	DepCancel                  // the node is cancelled, and with it what hangs on it
	DepRun                     // the node runs as though the dependency had completed
)

// InputMode says how a node's input is put together.
type InputMode uint8

// The modes.
const (
	FromValue InputMode = iota // Value as it is
	FromNode                   // the output of Refs[0]
	FromAll                    // the outputs of Refs as a list, in their order
	FromJoin                   // Value, with the outputs of Refs put into its fields
)

// RunInput is the input of one node.
type RunInput struct {
	Mode  InputMode
	Value any // FromValue, FromJoin; not encoded
	Refs  []InputRef
}

// InputRef is an output that becomes a part of an input.
type InputRef struct {
	Node int      // index of the node whose output it is
	Path []string // FromJoin: the field, see [FieldPath]
}

// RunNode is one node of a run.
type RunNode struct {
	Name string
	Def  *Definition // nil for the kinds of this package
	Kind string
	// Options are the node's own, with a queue in any case for the kinds of this
	// package. [RunSpec.Effective] puts them over the definition's.
	Options Options
	// Deps are the nodes that it depends on, by its input or otherwise: distinct,
	// ascending, and all before the node itself.
	Deps   []int
	Policy DepPolicy
	Input  RunInput
}

// Class returns the class of the node's step. The kinds of this package run like
// tasks.
func (n *RunNode) Class() Class {
	if n.Def == nil {
		return ClassTask
	}
	return n.Def.Class
}

// RunSpec is a run of many steps that is to be enqueued. It is well-formed when
// Err returns nil; only the inputs' encoding can be wrong then.
type RunSpec struct {
	Name     string
	Options  Options       // of the run, see RunOptions; a child run has a request key
	Deadline time.Duration // from the enqueue; 0 for none
	Nodes    []RunNode
	Result   int // index of the node whose output is the run's; -1 for none

	faults []RunFault
}

// RunFault is one thing that is wrong with a run. Node is -1 when it concerns
// the run as a whole.
type RunFault struct {
	Node int
	Name string // of the node
	Err  error
}

// Reject notes that something is wrong with the node at the index, or with the
// run as a whole when that is -1. err begins with "node <name>: " in the first
// case; the same fault may be found twice and is told once.
func (s *RunSpec) Reject(node int, err error) {
	fault := RunFault{Node: node, Err: err}
	if node >= 0 && node < len(s.Nodes) {
		fault.Name = s.Nodes[node].Name
	}
	s.faults = append(s.faults, fault)
}

// Err returns nil, or a *[RunFaults] with everything that was rejected, the run
// first and then its nodes in order. Whoever stores a run encodes all its inputs,
// rejects the nodes where that fails, and returns Err before anything is written.
func (s *RunSpec) Err() error {
	if len(s.faults) == 0 {
		return nil
	}
	faults := slices.Clone(s.faults)
	slices.SortStableFunc(faults, func(a, b RunFault) int { return a.Node - b.Node })
	faults = slices.CompactFunc(faults, func(a, b RunFault) bool {
		return a.Node == b.Node && a.Err.Error() == b.Err.Error()
	})
	return &RunFaults{Name: s.Name, Faults: faults}
}

// Clone returns a spec that can be changed and rejected without the other.
func (s *RunSpec) Clone() *RunSpec {
	c := *s
	c.Nodes = slices.Clone(s.Nodes)
	c.faults = slices.Clip(s.faults)
	return &c
}

// With returns the spec with other options of the run.
func (s *RunSpec) With(o Options) *RunSpec {
	c := *s
	c.Options = o
	c.faults = slices.Clip(s.faults)
	return &c
}

// Effective returns the options that apply to a node: its own over those of its
// definition. The run's meta data is every node's, and wins.
func (s *RunSpec) Effective(node int) Options {
	n := &s.Nodes[node]
	o := n.Options
	if n.Def != nil {
		o = o.Over(n.Def.Options)
	}
	if len(s.Options.Meta) > 0 {
		o.Meta = mergeMeta(s.Options.Meta, o.Meta)
		o.Set |= FieldMeta
	}
	return o
}

// Retention is how long a completed run is kept: as the run says, or else as
// long as the most demanding of its nodes, and an hour at least.
func (s *RunSpec) Retention() time.Duration {
	if s.Options.Set.Has(FieldRetention) {
		return s.Options.Retention
	}
	keep := time.Hour
	for i := range s.Nodes {
		if o := s.Effective(i); o.Set.Has(FieldRetention) {
			keep = max(keep, o.Retention)
		}
	}
	return keep
}

// RunFaults is everything that is wrong with a run; there is at least one fault.
type RunFaults struct {
	Name   string
	Faults []RunFault
}

// Error lists the faults.
func (e *RunFaults) Error() string {
	return fmt.Sprintf("workflow %.80q: %v", e.Name, errors.Join(e.Unwrap()...))
}

// Unwrap returns the faults' errors.
func (e *RunFaults) Unwrap() []error {
	all := make([]error, len(e.Faults))
	for i, f := range e.Faults {
		all[i] = f.Err
	}
	return all
}
