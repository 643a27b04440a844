package cyclone

import (
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Unique makes a step the only one with its key. The zero value means: one
// unfinished step of this kind with this input; a second enqueue gets its run.
type Unique struct {
	// Key tells what must be unique among the steps of one kind in one queue, up
	// to 1024 bytes. Empty means the input itself, as it is encoded.
	Key string
	// Scope is how long the key is held.
	Scope UniqueScope
	// OnConflict is what an enqueue does when the key is held.
	OnConflict Conflict
}

// UniqueScope is how long a unique key is held: [WhileUnfinished] or [For] a time.
type UniqueScope time.Duration

// WhileUnfinished holds the key until its step is completed, discarded,
// cancelled or deleted.
const WhileUnfinished UniqueScope = 0

// For holds the key for d from the enqueue on, whatever becomes of the step; d
// must be a millisecond or more.
func For(d time.Duration) UniqueScope {
	if d == 0 {
		return -1 // would read as WhileUnfinished; rejected like all below a millisecond
	}
	return UniqueScope(d)
}

// Conflict is what an enqueue does when its unique key is held by another step.
type Conflict uint8

const (
	// Existing writes nothing and returns the run of the holder.
	Existing Conflict = iota
	// Reject writes nothing and returns a [DuplicateError].
	Reject
	// Replace gives a holder that has not started the new input and options and
	// returns its run; a holder that has started is treated as by Existing. It
	// needs the scope [WhileUnfinished].
	Replace
)

// WithUnique makes the step unique; see [Unique]. On a definition it holds for
// every enqueue that does not say otherwise. It excludes WithRequestKey.
func WithUnique(u Unique) RunOption { return forRun[Unique]{u} }

func (u Unique) set(o *wire.Options) {
	o.Set |= wire.FieldUnique
	o.Unique = wire.Unique{Key: u.Key, Scope: time.Duration(u.Scope), Conflict: wire.Conflict(u.OnConflict)}
}

// WithRequestKey makes the caller's own re-send of an enqueue safe: a second
// enqueue with the same key, of 1 to 256 bytes, gets the run of the first one,
// for a day and whatever became of it. Choose a key that belongs to the event
// that causes the enqueue. It excludes WithUnique.
func WithRequestKey(key string) EnqueueOption { return onEnqueue[requestKey]{requestKey(key)} }

type requestKey string

func (k requestKey) set(o *wire.Options) {
	o.Set |= wire.FieldRequestKey
	o.RequestKey = string(k)
}

// WaitReplicas makes the enqueue return only when n replicas, at least one, have
// confirmed it; else it returns [ErrNotReplicated]. It costs a round trip.
func WaitReplicas(n int) EnqueueOption { return onEnqueue[waitReplicas]{waitReplicas(n)} }

type waitReplicas int

func (n waitReplicas) set(o *wire.Options) {
	o.Set |= wire.FieldWaitReplicas
	o.WaitReplicas = int(n)
}
