package cyclone

import (
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// definitionOnly is an option that only a definition can have.
type definitionOnly func(*wire.Definition)

func (f definitionOnly) ApplyDefinition(d *wire.Definition) { f(d) }

// WithBackoff replaces the delay table by a function. It gets the 1-based ordinal
// of the attempt that failed and returns the wait before the next one, which is
// used without jitter; 0 means at once. A negative result or a panic is taken as
// a mistake, and the default table is used instead. The function must be pure
// and safe for concurrent use. It excludes delays given with [Retry].
func WithBackoff(wait func(attempt int) time.Duration) DefinitionOption {
	return definitionOnly(func(d *wire.Definition) {
		if wait == nil {
			d.Reject(errors.New("backoff: must not be nil"))
		}
		d.Backoff = wait
	})
}

// LostRule is what happens to the attempt number when a worker died, or lost its
// lease, while it ran the step.
type LostRule uint8

const (
	// RestartLost starts the same attempt again: the default of actions and steps.
	RestartLost LostRule = iota
	// CountLost counts the lost attempt as a failed one: the default of tasks.
	CountLost
)

// WithLostAttempts chooses whether a lost attempt counts.
func WithLostAttempts(rule LostRule) DefinitionOption {
	return definitionOnly(func(d *wire.Definition) {
		if rule > CountLost {
			d.Reject(fmt.Errorf("lost attempts %d: must be RestartLost or CountLost", rule))
		}
		d.LostSet, d.CountLost = true, rule == CountLost
	})
}

// WithLostCap sets after how many lost attempts the step is discarded with the
// code "attempt_lost", counted or not, so that an input that kills its worker
// does not do so for ever. n must be at least 1; the default is 10.
func WithLostCap(n int) DefinitionOption {
	return definitionOnly(func(d *wire.Definition) {
		if n < 1 || n > wire.MaxLostCap {
			d.Reject(fmt.Errorf("lost cap %d: must be 1 to %d", n, wire.MaxLostCap))
		}
		d.LostCap = n
	})
}

// WithAlias adds names under which steps of this definition may still be stored,
// so that a definition can be renamed while some are waiting.
func WithAlias(names ...string) DefinitionOption {
	return definitionOnly(func(d *wire.Definition) { d.Aliases = append(d.Aliases, names...) })
}
