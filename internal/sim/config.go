package sim

import (
	"math/rand/v2"
	"time"
)

// Driver is what plays the workers.
type Driver int

// The drivers.
const (
	// StoreDriver has actors that use queue.Store, one call after another: the same
	// seed leaves the same trace.
	StoreDriver Driver = iota
	// EngineDriver has whole workers.
	EngineDriver
)

func (d Driver) String() string { return [...]string{"store", "engine"}[d] }

// Config is one simulation. ConfigOf makes one of a seed.
type Config struct {
	Seed       uint64
	Driver     Driver
	Partitions int
	Workers    int
	Producers  int
	Operators  int
	// Weavers enqueue runs of many steps and tasks with recorded steps; the store
	// driver has none.
	Weavers int
	// Large is how many nodes depend on the first one of each run that weavers enqueue,
	// 0 for runs of all shapes.
	Large int
	// Load is how long work and faults go on.
	Load time.Duration
	// Watched has somebody subscribe to events.
	Watched bool
	// ClientRetries is go-redis' own MaxRetries, -1 for none.
	ClientRetries int
	Faults        Faults
}

// LargeConfigOf is a seed of a deployment that works on runs of very many nodes: one is
// followed by so many that the sweep has to release them, or that the run is stored in
// several calls.
func LargeConfigOf(seed uint64, nodes int) Config {
	c := ConfigOf(seed, EngineDriver)
	c.Large, c.Weavers, c.Producers, c.Operators, c.Load = nodes, 1, 1, 1, 6*time.Second
	return c
}

// Faults are rates of one message, and mean pauses between events, 0 for never.
type Faults struct {
	LostRequest, LostReply, Late, Duplicated, Slow      float64
	Crash, Freeze, Drop, Error, Full, Flush, Jump, Stop time.Duration
}

// The terms of the simulated deployment: short, so that much happens.
const (
	lease       = 4 * time.Second
	heartbeat   = 1300 * time.Millisecond
	fallback    = time.Second
	maxAttempts = 3
	lostCap     = 3
	retention   = 20 * time.Second
)

// ConfigOf chooses what a seed has: a subset of the faults, each at a rate of its
// own, so that some seeds concentrate on few of them.
func ConfigOf(seed uint64, d Driver) Config {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := Config{
		Seed: seed, Driver: d, Partitions: 1, Workers: 2 + rng.IntN(3), Producers: 1 + rng.IntN(3), Operators: 1 + rng.IntN(2),
		Load: 16 * time.Second, Watched: rng.IntN(2) == 0, ClientRetries: -1,
	}
	if rng.IntN(2) == 0 {
		c.Partitions = 4
	}
	if d == EngineDriver && rng.IntN(2) == 0 {
		c.ClientRetries = 3
	}
	rate := func(most float64) float64 {
		if rng.IntN(5) < 2 {
			return 0
		}
		return most * rng.Float64()
	}
	every := func(least time.Duration) time.Duration {
		if rng.IntN(5) < 2 {
			return 0
		}
		return least + time.Duration(rng.Int64N(int64(2*least)))
	}
	if d == EngineDriver {
		c.Weavers, c.Producers = 1+rng.IntN(2), 1+rng.IntN(2)
	}
	c.Faults = Faults{
		LostRequest: rate(0.05), LostReply: rate(0.10), Late: rate(0.08), Duplicated: rate(0.10), Slow: rate(0.08),
		Crash: every(8 * time.Second), Freeze: every(8 * time.Second), Drop: every(8 * time.Second), Error: every(10 * time.Second),
		Full: every(12 * time.Second), Flush: every(6 * time.Second), Jump: every(12 * time.Second), Stop: every(12 * time.Second),
	}
	return c
}
