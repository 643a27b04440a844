package workflow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// BuilderError is everything that is wrong with a workflow's definition. Nothing
// of the run has been written. errors.Is and errors.As see every single mistake.
type BuilderError struct {
	// Workflow is the name that was given to New.
	Workflow string
	// Errors has one entry per mistake: those of the run first, then those of the
	// nodes, in the order in which they were added. Each names its node, and the
	// limit where there is one.
	Errors []error
}

// shownErrors is how many mistakes the text spells out.
const shownErrors = 50

// Error tells the mistakes, a line each; after 50 it only counts.
func (e *BuilderError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "workflow: %.80q cannot be enqueued:", e.Workflow)
	if len(e.Errors) == 1 {
		fmt.Fprintf(&text, " %v", e.Errors[0])
		return text.String()
	}
	for i, err := range e.Errors {
		if i == shownErrors {
			fmt.Fprintf(&text, "\n- and %d more", len(e.Errors)-shownErrors)
			break
		}
		fmt.Fprintf(&text, "\n- %v", err)
	}
	return text.String()
}

// Unwrap returns the mistakes.
func (e *BuilderError) Unwrap() []error { return e.Errors }

// builderError turns what a spec reports into a *BuilderError, and nil into nil.
func builderError(err error) error {
	var faults *wire.RunFaults
	if !errors.As(err, &faults) {
		return err
	}
	return &BuilderError{Workflow: faults.Name, Errors: faults.Unwrap()}
}
