package wire

import (
	"slices"
	"time"
)

// Field is a set of settings that were given explicitly.
type Field uint32

// One bit per setting of [Options].
const (
	FieldMaxAttempts Field = 1 << iota
	FieldDelays
	FieldQueue
	FieldPriority
	FieldTimeout
	FieldRetention
	FieldDelay
	FieldStartAt
	FieldExpiry
	FieldUnique
	FieldRequestKey
	FieldMeta
	FieldWaitReplicas
)

// Has reports whether f holds every bit of g.
func (f Field) Has(g Field) bool { return f&g == g }

// Priority is the lane of a step; the lower number is served first.
type Priority uint8

// The three lanes.
const (
	High Priority = iota
	Default
	Low
)

// Conflict says what an enqueue does when its unique key is held.
type Conflict uint8

// The conflict rules.
const (
	ConflictExisting Conflict = iota // answer with the holder's id
	ConflictReject                   // fail with a DuplicateError
	ConflictReplace                  // replace payload and options of a holder that has not started
)

// Unique is the uniqueness of a step among those of its kind in its queue.
type Unique struct {
	Key      string        // empty: the encoded input is the key
	Scope    time.Duration // 0: as long as the holder is unfinished
	Conflict Conflict
}

// KV is one entry of a step's meta data.
type KV struct{ Key, Value string }

// Options are the settings of a definition or of one enqueue. A field counts
// only when its bit is in Set. The zero value is ready to use.
type Options struct {
	Set          Field
	MaxAttempts  int
	Delays       []time.Duration
	Queue        string
	Priority     Priority
	Timeout      time.Duration
	Retention    time.Duration
	Delay        time.Duration
	StartAt      time.Time
	Expiry       time.Duration // from the enqueue
	Unique       Unique
	RequestKey   string
	Meta         []KV // distinct keys, in the order in which they were first given
	WaitReplicas int
}

// Lane returns the lane that applies.
func (o *Options) Lane() Priority {
	if o.Set.Has(FieldPriority) {
		return o.Priority
	}
	return Default
}

// QueueName returns the queue that applies.
func (o *Options) QueueName() string {
	if o.Set.Has(FieldQueue) {
		return o.Queue
	}
	return DefaultQueue
}

// AddMeta sets the entry for key; the last value for a key wins.
func (o *Options) AddMeta(key, value string) {
	o.Set |= FieldMeta
	for i := range o.Meta {
		if o.Meta[i].Key == key {
			o.Meta[i].Value = value
			return
		}
	}
	o.Meta = append(o.Meta, KV{key, value})
}

// Over returns o with what it leaves open taken from base: an enqueue's options
// over its definition's. Meta is merged key by key. Neither argument changes.
func (o Options) Over(base Options) Options {
	meta := mergeMeta(o.Meta, base.Meta)
	missing := base.Set &^ o.Set
	take(&o.MaxAttempts, base.MaxAttempts, missing, FieldMaxAttempts)
	take(&o.Delays, base.Delays, missing, FieldDelays)
	take(&o.Queue, base.Queue, missing, FieldQueue)
	take(&o.Priority, base.Priority, missing, FieldPriority)
	take(&o.Timeout, base.Timeout, missing, FieldTimeout)
	take(&o.Retention, base.Retention, missing, FieldRetention)
	take(&o.Expiry, base.Expiry, missing, FieldExpiry)
	take(&o.Unique, base.Unique, missing, FieldUnique)
	take(&o.RequestKey, base.RequestKey, missing, FieldRequestKey)
	take(&o.WaitReplicas, base.WaitReplicas, missing, FieldWaitReplicas)
	// A delay and a start time exclude each other: either one overrides both.
	if !o.Set.Has(FieldDelay) && !o.Set.Has(FieldStartAt) {
		take(&o.Delay, base.Delay, missing, FieldDelay)
		take(&o.StartAt, base.StartAt, missing, FieldStartAt)
	} else {
		missing &^= FieldDelay | FieldStartAt
	}
	o.Meta = meta
	o.Set |= missing
	return o
}

// take copies value when missing holds field.
func take[T any](dst *T, value T, missing, field Field) {
	if missing.Has(field) {
		*dst = value
	}
}

// mergeMeta returns base's entries with over's on top, sharing memory with an
// argument only when the other is empty.
func mergeMeta(over, base []KV) []KV {
	if len(base) == 0 {
		return over
	}
	if len(over) == 0 {
		return base
	}
	merged := Options{Meta: slices.Clone(base)}
	for _, kv := range over {
		merged.AddMeta(kv.Key, kv.Value)
	}
	return merged.Meta
}
