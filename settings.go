package cyclone

import (
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// RetryPolicy says how often a step is tried and how long it waits in between. A
// field left at zero takes the default of what the policy is given to.
type RetryPolicy = retry.Policy

// WithMaxAttempts limits the attempts of a step, the first one included: 1 means
// no retry. n must be 1 to 10,000. The default is 5, for a task 4.
func WithMaxAttempts(n int) Option { return anywhere[maxAttempts]{maxAttempts(n)} }

type maxAttempts int

func (n maxAttempts) set(o *wire.Options) {
	o.Set |= wire.FieldMaxAttempts
	o.MaxAttempts = int(n)
}

// Retry sets the limit of attempts and the delays of a step in one option. Each
// delay must be above zero; each wait varies by the worker's jitter. A definition
// takes either delays or WithBackoff; delays of an enqueue win over both.
func Retry(policy RetryPolicy) Option {
	policy.Delays = slices.Clone(policy.Delays)
	return anywhere[retryPolicy]{retryPolicy(policy)}
}

type retryPolicy retry.Policy

func (p retryPolicy) set(o *wire.Options) {
	if p.MaxAttempts != 0 {
		maxAttempts(p.MaxAttempts).set(o)
	}
	if len(p.Delays) > 0 {
		o.Set |= wire.FieldDelays
		o.Delays = p.Delays
	}
}

// WithQueue puts the step into the named queue; the default is "default".
func WithQueue(name string) Option { return anywhere[queueName]{queueName(name)} }

type queueName string

func (q queueName) set(o *wire.Options) {
	o.Set |= wire.FieldQueue
	o.Queue = string(q)
}

// Priority is the order among the ready steps of a queue. A worker takes High
// before Default before Low, and now and then the other way round, so that Low
// is late but never forgotten.
type Priority uint8

// The priorities. A step without WithPriority has Default.
const (
	High Priority = iota
	Default
	Low
)

// String returns "high", "default" or "low".
func (p Priority) String() string {
	switch p {
	case High:
		return "high"
	case Default:
		return "default"
	case Low:
		return "low"
	}
	return "invalid"
}

// WithPriority sets the step's priority within its queue.
func WithPriority(p Priority) Option { return anywhere[Priority]{p} }

func (p Priority) set(o *wire.Options) {
	o.Set |= wire.FieldPriority
	o.Priority = wire.Priority(p)
}

// WithTimeout limits how long one attempt may run; d must be a millisecond or
// more. At the timeout the attempt's Context is done, and the attempt fails with the
// code "timeout". Without it an attempt runs as long as its lease is extended, unless
// the worker's configuration limits it.
func WithTimeout(d time.Duration) Option { return anywhere[timeout]{timeout(d)} }

type timeout time.Duration

func (d timeout) set(o *wire.Options) {
	o.Set |= wire.FieldTimeout
	o.Timeout = time.Duration(d)
}

// WithRetention sets how long a completed step and its output are kept; 0 keeps
// nothing. The default is 0 for an action and one hour for a step or a task.
// Waiting for a run that is no longer kept gives [ErrNotFound]. It is the one option
// that is valid everywhere: for a whole workflow run it sets how long the run is kept
// after its end, with the outputs of all its nodes. Without it that is an hour, or as
// long as the most demanding of its nodes asks for.
func WithRetention(d time.Duration) interface {
	Option
	RunOption
} {
	return everywhere[retention]{anywhere[retention]{retention(d)}}
}

type retention time.Duration

func (d retention) set(o *wire.Options) {
	o.Set |= wire.FieldRetention
	o.Retention = time.Duration(d)
}

// WithMeta attaches a value to the step that travels beside its input, such as a
// trace id; handlers read it with Context.Meta. Keys given on the enqueue win over
// those of the definition. A step holds up to 64 entries and 16 KiB of UTF-8.
func WithMeta(key, value string) RunOption { return forRun[metaEntry]{metaEntry{key, value}} }

type metaEntry wire.KV

func (m metaEntry) set(o *wire.Options) { o.AddMeta(m.Key, m.Value) }
