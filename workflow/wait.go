package workflow

import (
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// Wait adds a node that waits for the signal named like it, and holds no worker's
// slot meanwhile. A signal that was sent before the wait began counts. A timeout of
// 0 waits for ever; after any other one the node is discarded with the code
// "timeout", and what depends on it is treated as [OnDepFailure] says.
//
// Options are [After], [OnDepFailure], [cyclone.WithQueue], [cyclone.WithPriority],
// [cyclone.WithDelay] and [cyclone.WithStartAt]. A worker of the node's queue has to
// run for the wait to begin and to end. Without WithQueue that is the queue of the
// first node that depends on it, else of the first one that it depends on.
func Wait(b *Builder, node string, timeout time.Duration, opts ...cyclone.NodeOption) Node {
	return b.addWait(wire.KindWait, node, timeout, opts)
}

// WaitSignal is [Wait] for a signal that carries a T, which is the node's output.
// A payload that is not a T fails the node that takes it as its input.
func WaitSignal[T any](b *Builder, node string, timeout time.Duration, opts ...cyclone.NodeOption) Ref[T] {
	return Ref[T]{b.addWait(wire.KindWait, node, timeout, opts)}
}

// Sleep adds a node that takes d, counted from when its dependencies have ended,
// and holds no worker's slot meanwhile. d must be a millisecond or more. Options
// are those of [Wait].
func Sleep(b *Builder, node string, d time.Duration, opts ...cyclone.NodeOption) Node {
	return b.addWait(wire.KindSleep, node, d, opts)
}

func (b *Builder) addWait(kind, name string, d time.Duration, opts []cyclone.NodeOption) Node {
	n := draft{RunNode: wire.RunNode{Name: name, Kind: kind}}
	switch {
	case kind == wire.KindSleep && (d < time.Millisecond || d > retry.MaxDelay):
		n.fault(fmt.Errorf("sleep of %v: must be at least 1ms and at most 100 years", d))
	case d < 0 || d > retry.MaxDelay:
		n.fault(fmt.Errorf("timeout %v: must be at least 0, which is none, and at most 100 years", d))
	}
	in := wire.WaitInput{Name: name, TimeoutMS: int64((d + time.Millisecond - 1) / time.Millisecond)}
	return b.add(n, source{mode: wire.FromValue, value: in}, opts)
}

// checkWaitOptions refuses what only means something to a handler.
func checkWaitOptions(o *wire.Options) error {
	const sensible = wire.FieldQueue | wire.FieldPriority | wire.FieldDelay | wire.FieldStartAt
	if o.Set&^sensible != 0 {
		return errors.New("a wait or a sleep takes no options but After, OnDepFailure, WithQueue, WithPriority, WithDelay and WithStartAt")
	}
	return nil
}
