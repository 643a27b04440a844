package cyclone

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// CompletionTx collects writes that take effect if and only if the completion of
// this attempt does, in the same instant: all of them or none. Nothing is written
// when the handler fails, when its lease is lost or when a write cannot be applied
// (a key of another type, say; that fails the attempt).
//
// A transaction holds at most 100 operations and 1 MiB of keys, values and payloads;
// the runs of many steps in it have at most 20,000 nodes together, whose inputs do not
// count as payloads. What is wrong with an operation is returned where it is added, and kept: a
// handler that returns nil in spite of it has failed. Operations are applied in the
// order in which they were added, then enqueues, then signals. It is safe for
// concurrent use, and of no use after the handler has returned.
type CompletionTx interface {
	// Key returns the key that the name stands for, on the run's partition:
	// `<prefix>:{<partition>}:tx:<name>`. On a Redis Cluster other keys are refused,
	// unless they carry the same hash tag; elsewhere any key will do that does not
	// begin with the deployment's prefix. Where a deployment has several partitions
	// the same name is another key for a run of another partition.
	Key(name string) string
	// Set writes a string that lives for ttl, or for ever when ttl is 0.
	Set(key, value string, ttl time.Duration) error
	// Delete removes a key of any type, if it is there.
	Delete(key string) error
	// IncrBy adds n to the integer at key; a missing key is 0.
	IncrBy(key string, n int64) error
	// HashSet writes a field of a hash.
	HashSet(key, field, value string) error
	// SetAdd adds 1 to 100 members to a set.
	SetAdd(key string, members ...string) error
	// ListPush adds 1 to 100 values behind a list.
	ListPush(key string, values ...string) error
	// Enqueue makes new runs, on the run's partition. A request with a unique key,
	// a request key or WaitReplicas is refused.
	Enqueue(requests ...Request) error
	// EnqueueRun makes a new run of many steps. It is for the packages of this module:
	// EnqueueTx of a workflow's builder is what handlers call.
	EnqueueRun(run *wire.RunSpec) error
	// Signal sends a signal to a run of the same partition; a run of another one is
	// refused. The attempt fails when that run has ended.
	Signal(run RunID, name string, payload any) error
}

// Output returns the output of the node that this one depends on, in a handler of a
// workflow's node. The error is [ErrNotFound] when the handler's node does not
// depend on it, or when it has no output: an action, or one that did not complete.
func Output[T any](ctx context.Context, node string) (T, error) {
	var out, none T
	outputs, ok := ctx.Value(wire.OutputsKey{}).(wire.Outputs)
	if !ok {
		return none, fmt.Errorf("cyclone: output of %q: %w: the handler is not that of a workflow's node", node, ErrNotFound)
	}
	found, err := outputs.Output(node, &out)
	if err != nil {
		return none, Permanent(fmt.Errorf("cyclone: output of %q: %w", node, err))
	}
	if !found {
		return none, fmt.Errorf("cyclone: output of %q: %w: no node that this one depends on has an output under that name", node, ErrNotFound)
	}
	return out, nil
}

// Returning is a [Step] or a [Task]: what runs with an In and returns an Out. No
// other type implements it.
type Returning[In, Out any] interface {
	Definition
	// With makes a request to run it with in.
	With(in In, opts ...EnqueueOption) Request
	returns() Out
}

// returns tells the compiler what the step returns.
func (s *Step[In, Out]) returns() (none Out) { return none }

// returns tells the compiler what the task returns.
func (t *Task[In, Out]) returns() (none Out) { return none }
