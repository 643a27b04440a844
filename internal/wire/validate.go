package wire

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/cyclone-queue/cyclone/retry"
)

// Validate returns nil, or one error that names every bad setting with its
// limit. Settings that were not given are not looked at.
func (o *Options) Validate() error {
	var v verdict
	if o.Set.Has(FieldMaxAttempts) {
		v.number("max attempts", o.MaxAttempts, 1, retry.MaxAttemptsLimit)
	}
	if o.Set.Has(FieldDelays) {
		v.add(retry.ValidateDelays(o.Delays))
	}
	if o.Set.Has(FieldQueue) {
		v.add(CheckName("queue", o.Queue))
	}
	if o.Set.Has(FieldPriority) && o.Priority > Low {
		v.add(fmt.Errorf("priority %d: must be High, Default or Low", o.Priority))
	}
	if o.Set.Has(FieldTimeout) {
		v.span("timeout", o.Timeout, time.Millisecond)
	}
	if o.Set.Has(FieldRetention) {
		v.span("retention", o.Retention, 0)
	}
	o.validateStart(&v)
	o.validateIdentity(&v)
	if o.Set.Has(FieldWaitReplicas) {
		v.number("wait replicas", o.WaitReplicas, 1, MaxReplicas)
	}
	return v.err()
}

// validateStart looks at when a step may start, and until when.
func (o *Options) validateStart(v *verdict) {
	if o.Set.Has(FieldDelay) {
		v.span("delay", o.Delay, 0)
	}
	if o.Set.Has(FieldStartAt) {
		switch {
		case o.StartAt.IsZero():
			v.add(errors.New("start time: must not be the zero time"))
		case !o.StartAt.Before(MaxStart):
			v.add(fmt.Errorf("start time %v: must be before %v", o.StartAt, MaxStart))
		}
	}
	if o.Set.Has(FieldDelay | FieldStartAt) {
		v.add(errors.New("delay and start time: give one of them, not both"))
	}
	if o.Set.Has(FieldExpiry) {
		v.span("expiry", o.Expiry, time.Millisecond)
		if o.Set.Has(FieldDelay) && o.Expiry <= o.Delay {
			v.add(fmt.Errorf("expiry %v: must be longer than the delay of %v", o.Expiry, o.Delay))
		}
	}
}

// validateIdentity looks at what a step is known by.
func (o *Options) validateIdentity(v *verdict) {
	if o.Set.Has(FieldUnique) {
		v.size("unique key", len(o.Unique.Key), 0, MaxUniqueKey)
		if s := o.Unique.Scope; s != 0 {
			v.span("unique scope", s, time.Millisecond)
		}
		if o.Unique.Conflict > ConflictReplace {
			v.add(fmt.Errorf("unique conflict %d: must be Existing, Reject or Replace", o.Unique.Conflict))
		}
		if o.Unique.Conflict == ConflictReplace && o.Unique.Scope != 0 {
			v.add(errors.New("unique conflict Replace: needs the scope WhileUnfinished, since a key held for a time can outlive its step"))
		}
	}
	if o.Set.Has(FieldRequestKey) {
		v.size("request key", len(o.RequestKey), 1, MaxRequestKey)
	}
	if o.Set.Has(FieldMeta) {
		o.validateMeta(v)
	}
}

func (o *Options) validateMeta(v *verdict) {
	if len(o.Meta) > MaxMeta {
		v.add(fmt.Errorf("meta: %d entries, must be at most %d", len(o.Meta), MaxMeta))
	}
	total := 0
	for _, kv := range o.Meta {
		total += len(kv.Key) + len(kv.Value)
		if n := len(kv.Key); n < 1 || n > MaxMetaKey || !utf8.ValidString(kv.Key) {
			v.add(fmt.Errorf("meta key %.40q: must be UTF-8 of 1 to %d bytes", kv.Key, MaxMetaKey))
		}
		if n := len(kv.Value); n > MaxMetaValue || !utf8.ValidString(kv.Value) {
			v.add(fmt.Errorf("meta %.40q: value of %d bytes, must be UTF-8 of at most %d", kv.Key, n, MaxMetaValue))
		}
	}
	if total > MaxMetaBytes {
		v.add(fmt.Errorf("meta: %d bytes in total, must be at most %d", total, MaxMetaBytes))
	}
}

// CheckName returns an error when name is not a [ValidName]; what says what it names.
func CheckName(what, name string) error {
	if ValidName(name) {
		return nil
	}
	return fmt.Errorf("%s %.80q: %s", what, name, NameRule)
}

// verdict collects what is wrong. It allocates nothing as long as all is well.
type verdict struct{ bad []error }

func (v *verdict) err() error { return errors.Join(v.bad...) }

func (v *verdict) add(err error) {
	if err != nil {
		v.bad = append(v.bad, err)
	}
}

func (v *verdict) number(what string, n, low, high int) {
	if n < low || n > high {
		v.add(fmt.Errorf("%s %d: must be %d to %d", what, n, low, high))
	}
}

func (v *verdict) size(what string, n, low, high int) {
	if n < low || n > high {
		v.add(fmt.Errorf("%s of %d bytes: must be %d to %d bytes", what, n, low, high))
	}
}

// span checks a duration: at least low, at most [retry.MaxDelay].
func (v *verdict) span(what string, d, low time.Duration) {
	if d < low || d > retry.MaxDelay {
		v.add(fmt.Errorf("%s %v: must be at least %v and at most 100 years", what, d, low))
	}
}
