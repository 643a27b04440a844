package wire

// Spec is one step to be enqueued.
type Spec struct {
	Def     *Definition // nil when only the kind is known
	Kind    string
	Input   any
	Options Options // the enqueue's own; put them over Def.Options
	// Err is why the request cannot be enqueued. It is reported before anything
	// is written.
	Err error
	// RawJSON is the input when it came in as JSON; Input is then nil.
	RawJSON []byte
	// Run is what is to be enqueued when it is a run of many steps and no single one:
	// Kind is its name then, Options are the run's in place of its own.
	Run *RunSpec
}

// RunOptions are the options that a run of many steps takes as a whole.
const RunOptions = FieldUnique | FieldMeta | FieldRetention | FieldWaitReplicas

// Effective returns the options that apply: the enqueue's over the definition's.
func (s *Spec) Effective() Options {
	var room Options
	return *s.EffectiveIn(&room)
}

// EffectiveIn is Effective without a copy where the spec's own options are all there
// are; else they are put together in room.
func (s *Spec) EffectiveIn(room *Options) *Options {
	if s.Def == nil || s.Def.Options.Set == 0 {
		return &s.Options
	}
	*room = s.Options.Over(s.Def.Options)
	return room
}

// Class returns the class of the step, ClassAction when only its kind is known.
func (s *Spec) Class() Class {
	if s.Def == nil {
		return ClassAction
	}
	return s.Def.Class
}
