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
}

// Effective returns the options that apply: the enqueue's over the definition's.
func (s *Spec) Effective() Options {
	if s.Def == nil {
		return s.Options
	}
	return s.Options.Over(s.Def.Options)
}

// Class returns the class of the step, ClassAction when only its kind is known.
func (s *Spec) Class() Class {
	if s.Def == nil {
		return ClassAction
	}
	return s.Def.Class
}
