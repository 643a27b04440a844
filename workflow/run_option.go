package workflow

import (
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// RunOption is an option of a whole run. Each RunOption of package cyclone is one.
type RunOption interface {
	ApplyRun(*wire.Options)
}

// runSetting is a RunOption that says more than Options can hold.
type runSetting interface {
	applySpec(*wire.RunSpec) error
}

// WithDeadline fails the run when it has not ended d after its enqueue: what has
// not finished by then is cancelled. d must be a millisecond or more. An operator's
// retry of a failed run is not bound by it.
func WithDeadline(d time.Duration) RunOption { return deadline(d) }

type deadline time.Duration

func (deadline) ApplyRun(*wire.Options) {}

func (d deadline) applySpec(spec *wire.RunSpec) error {
	spec.Deadline = time.Duration(d)
	if spec.Deadline < time.Millisecond || spec.Deadline > retry.MaxDelay {
		return fmt.Errorf("deadline %v: must be at least 1ms and at most 100 years", spec.Deadline)
	}
	return nil
}
