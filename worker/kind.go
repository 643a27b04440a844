package worker

import (
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// kind is a registered definition with what applies to steps whose enqueue fixed
// nothing: most of them.
type kind struct {
	*wire.Definition
	standard   retry.Policy // the worker's own, below the definition
	jitter     float64
	plain      terms
	countsLost bool
	// acknowledged tells that Redis hears of an attempt's start before the handler is
	// entered.
	acknowledged bool
	builtin      bool // a kind of this module, which no middleware sees
	maxLost      int
}

// terms are the settings of one attempt: the enqueue's, else the definition's,
// else the worker's.
type terms struct {
	rule    retry.Rule
	timeout time.Duration // 0: none
	keep    time.Duration // of a completed step
}

func (w *Worker) newKind(def *wire.Definition) *kind {
	k := &kind{
		Definition: def, standard: w.cfg.Retry, jitter: retry.DefaultJitter,
		countsLost: def.CountsLost(), maxLost: def.MaxLost(),
	}
	k.acknowledged = k.countsLost || k.task()
	if k.task() {
		k.standard, k.jitter = w.cfg.taskPolicy, w.cfg.jitter
	}
	k.plain = k.terms(wire.Options{}, w.cfg.Timeout)
	return k
}

// task tells that attempts have a journal.
func (k *kind) task() bool { return k.Class == wire.ClassTask }

// terms returns what applies to a step whose enqueue fixed the given options.
func (k *kind) terms(given wire.Options, timeout time.Duration) terms {
	t := terms{rule: k.Rule(&given, k.standard, k.jitter), timeout: timeout, keep: k.Class.Retention()}
	for _, o := range []*wire.Options{&k.Options, &given} {
		if o.Set.Has(wire.FieldTimeout) {
			t.timeout = o.Timeout
		}
		if o.Set.Has(wire.FieldRetention) {
			t.keep = o.Retention
		}
	}
	return t
}
