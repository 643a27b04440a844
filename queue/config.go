package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// The defaults of a [Config].
const (
	DefaultPrefix             = "cyclone"
	DefaultResendFor          = 15 * time.Second
	DefaultReplicaTimeout     = time.Second
	DefaultDiscardedRetention = 30 * 24 * time.Hour
	DefaultCancelledRetention = 24 * time.Hour
	DefaultDiscardedMax       = 100_000
	DefaultFinishedMax        = 1_000_000
)

// EnqueueFunc stores requests; see [cyclone.Enqueuer].
type EnqueueFunc func(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error)

// Config configures a [Client]. The zero value works.
type Config struct {
	// Prefix begins every key and channel, default "cyclone". Deployments with
	// different prefixes share a server without seeing each other.
	Prefix string
	// Partitions is how many partitions the deployment has, a power of two up to
	// 4096. It is fixed when the deployment is first used: 0 takes what is stored,
	// or 1 when nothing is; any other value must agree with what is stored.
	// One is right for a single server; 16 or more for Redis Cluster.
	Partitions int
	// Codec writes inputs and outputs, default MessagePack. What another codec
	// wrote is read by the codec that its id names: MessagePack, JSON, Codec or
	// one of Codecs.
	Codec  Codec
	Codecs []Codec
	// MaxPayload limits one encoded input or output in bytes, default and at most
	// 1 MiB.
	MaxPayload int
	// ResendFor is how long an unanswered call is sent again before it fails with
	// [cyclone.ErrUnknownOutcome], default 15 s.
	ResendFor time.Duration
	// ReplicaTimeout is how long an enqueue with WaitReplicas waits for the
	// replicas, default 1 s.
	ReplicaTimeout time.Duration
	// DiscardedRetention and DiscardedMax bound the discarded set of each queue by
	// age, default 30 days, and by count, default 100,000: the oldest go first.
	DiscardedRetention time.Duration
	DiscardedMax       int
	// CancelledRetention bounds the cancelled set by age, default 24 h.
	CancelledRetention time.Duration
	// FinishedMax bounds the completed and the cancelled set of each queue by
	// count, default 1,000,000.
	FinishedMax int
	// Middleware wraps every enqueue, the first entry outermost: to add meta data
	// for tracing, to measure, to refuse. A run of many steps is one request, in a call
	// of its own. Child runs, and what a completion transaction enqueues, are parts of
	// the run that makes them, and do not pass.
	Middleware []func(EnqueueFunc) EnqueueFunc
	// Heartbeats is an optional second client to the same server for lease
	// renewals, so that a crowded connection pool cannot delay them.
	Heartbeats redis.UniversalClient
	// Logger gets what no caller is told, default slog.Default().
	Logger *slog.Logger
	// Dice returns numbers from 0 to below 1, which spread pauses; default
	// math/rand/v2. A test that has to go alike each time gives its own. It is called
	// from any goroutine.
	Dice func() float64
}

// withDefaults returns the config with zero fields filled, or one error that
// names every bad field.
func (c Config) withDefaults() (Config, error) {
	var bad []error
	fill(&c.Prefix, DefaultPrefix)
	fill(&c.MaxPayload, wire.MaxPayload)
	fill(&c.ResendFor, DefaultResendFor)
	fill(&c.ReplicaTimeout, DefaultReplicaTimeout)
	fill(&c.DiscardedRetention, DefaultDiscardedRetention)
	fill(&c.CancelledRetention, DefaultCancelledRetention)
	fill(&c.DiscardedMax, DefaultDiscardedMax)
	fill(&c.FinishedMax, DefaultFinishedMax)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Dice == nil {
		c.Dice = rand.Float64
	}
	if c.Codec == nil {
		c.Codec = NewMsgpackCodec(c.MaxPayload)
	}
	if err := wire.CheckName("Prefix", c.Prefix); err != nil {
		bad = append(bad, err)
	}
	if p := c.Partitions; p < 0 || p > maxPartitions || p&(p-1) != 0 {
		bad = append(bad, fmt.Errorf("Partitions is %d: must be 0 or a power of two up to %d", p, maxPartitions))
	}
	if c.MaxPayload < 0 || c.MaxPayload > wire.MaxPayload {
		bad = append(bad, fmt.Errorf("MaxPayload is %d: must be 1 to %d bytes", c.MaxPayload, wire.MaxPayload))
	}
	for name, d := range map[string]time.Duration{
		"ResendFor": c.ResendFor, "ReplicaTimeout": c.ReplicaTimeout,
		"DiscardedRetention": c.DiscardedRetention, "CancelledRetention": c.CancelledRetention,
	} {
		if d < time.Millisecond {
			bad = append(bad, fmt.Errorf("%s is %v: must be at least 1ms", name, d))
		}
	}
	for name, n := range map[string]int{"DiscardedMax": c.DiscardedMax, "FinishedMax": c.FinishedMax} {
		if n < 0 {
			bad = append(bad, fmt.Errorf("%s is %d: must not be negative", name, n))
		}
	}
	if err := errors.Join(bad...); err != nil {
		return Config{}, fmt.Errorf("queue: config: %w", err)
	}
	return c, nil
}

// fill sets a zero field to its default.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
