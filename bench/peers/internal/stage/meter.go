package stage

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/proc"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// Meter reads what the server and some clients use from now on.
type Meter struct {
	stage   *Stage
	clients []*contender.Client
	before  reading
}

type reading struct {
	at             time.Time
	server, client time.Duration
	allocations    uint64
	commands       int
	counted        bool
}

// Meter begins to measure.
func (s *Stage) Meter(ctx context.Context, clients ...*contender.Client) (*Meter, error) {
	m := &Meter{stage: s, clients: clients}
	var err error
	m.before, err = m.read(ctx)
	return m, err
}

// PerJob adds what was used for each of the jobs to a sample.
func (m *Meter) PerJob(ctx context.Context, jobs int, into Sample) error {
	after, err := m.read(ctx)
	if err != nil || jobs < 1 {
		return err
	}
	n := float64(jobs)
	into[ServerMicros] = micros(after.server-m.before.server) / n
	into[ClientMicros] = micros(after.client-m.before.client) / n
	if after.allocations > 0 {
		into[Allocations] = float64(after.allocations-m.before.allocations) / n
	}
	return nil
}

// PerSecond adds what was used in each second since the meter began.
func (m *Meter) PerSecond(ctx context.Context, into Sample) error {
	after, err := m.read(ctx)
	if err != nil {
		return err
	}
	seconds := after.at.Sub(m.before.at).Seconds()
	into[ServerPercent] = 100 * (after.server - m.before.server).Seconds() / seconds
	into[ClientPercent] = 100 * (after.client - m.before.client).Seconds() / seconds
	if after.counted {
		into[CommandsPerSec] = float64(after.commands-m.before.commands) / seconds
	}
	return nil
}

func (m *Meter) read(ctx context.Context) (r reading, err error) {
	for _, c := range m.clients {
		reply, err := c.Call(ctx, wire.Command{Op: wire.OpUsage})
		if err != nil {
			return r, err
		}
		if reply.Usage != nil {
			r.allocations += reply.Usage.Allocations
		}
		used, err := proc.CPU(c.PID())
		if err != nil {
			return r, err
		}
		r.client += used
	}
	if n, err := m.stage.Server.Commands(ctx); err == nil {
		r.commands, r.counted = n, true
	}
	r.server, err = proc.CPU(m.stage.Server.PID())
	r.at = time.Now()
	return r, err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
