// Package stage is where one contender does one piece of work: its server, its
// client processes, and the meters on both.
package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// Stage is one contender's. One goroutine at a time uses it.
type Stage struct {
	contender.Contender
	Server server.Server
	// Chosen are the settings by purpose; where nothing was chosen, the first that
	// would be tried.
	Chosen map[contender.Purpose]contender.Settings
	// Maximum is how many jobs a second it has taken through at most, single
	// enqueues, 0 when nobody has measured that yet.
	Maximum float64
	// Leads are how long before they were due so many jobs had to be scheduled.
	Leads map[int]time.Duration
	// Scale says how large the pieces are.
	Scale Scale
	// LibraryVersion is known once a client has run.
	LibraryVersion string

	options server.Options
	clients []held // at work in this piece
	warm    []held // of earlier pieces, to be used again
}

// held is a client process and what it is for.
type held struct {
	*contender.Client
	purpose contender.Purpose
}

// Open starts the contender's server.
func Open(ctx context.Context, c contender.Contender, o server.Options, scale Scale) (*Stage, error) {
	s := &Stage{
		Contender: c, Chosen: map[contender.Purpose]contender.Settings{}, Leads: map[int]time.Duration{}, Scale: scale, options: o,
	}
	var err error
	s.Server, err = c.Start(ctx, o)
	return s, err
}

// Close ends everything.
func (s *Stage) Close() error {
	s.leave(true)
	return s.Server.Stop()
}

// Reset ends what has failed and starts the server anew. When that fails too, what
// is measured next fails for the lack of a server.
func (s *Stage) Reset(ctx context.Context) error {
	s.leave(true)
	_ = s.Server.Stop() // it may be what has failed
	started, err := s.Start(ctx, s.options)
	if err != nil {
		started = server.None{Err: err}
	}
	s.Server = started
	return err
}

// Measure runs one piece on an empty server with client processes of its own.
func (s *Stage) Measure(ctx context.Context, work func(context.Context) (Sample, error)) (Sample, error) {
	if err := s.Server.Clear(ctx); err != nil {
		return nil, fmt.Errorf("clear: %w", err)
	}
	sample, err := work(ctx)
	s.leave(err != nil)
	return sample, err
}

// leave ends the clients of a piece, or keeps them when they are to stay warm.
func (s *Stage) leave(all bool) {
	s.warm, s.clients = append(s.warm, s.clients...), nil
	if s.Warms && !all {
		return
	}
	for _, c := range s.warm {
		c.Close()
	}
	s.warm = nil
}

// obtain takes a warm process or starts a new one.
func (s *Stage) obtain(purpose contender.Purpose) (*contender.Client, error) {
	for i, c := range s.warm {
		if c.purpose == purpose {
			s.warm = slices.Delete(s.warm, i, i+1)
			return c.Client, nil
		}
	}
	return contender.Launch(s.Client())
}

// Settings are those chosen for a purpose.
func (s *Stage) Settings(purpose contender.Purpose) contender.Settings {
	if chosen, ok := s.Chosen[purpose]; ok {
		return chosen
	}
	if tries := s.Tries[purpose]; len(tries) > 0 {
		return tries[0]
	}
	return contender.Settings{Name: "defaults"}
}

// Launch starts a client process with the settings for a purpose, overridden by
// those given, and connects it.
func (s *Stage) Launch(ctx context.Context, purpose contender.Purpose, over map[string]int) (*contender.Client, error) {
	c, err := s.obtain(purpose)
	if err != nil {
		return nil, err
	}
	s.clients = append(s.clients, held{c, purpose})
	values := maps.Clone(s.Settings(purpose).Values)
	if values == nil {
		values = map[string]int{}
	}
	maps.Copy(values, over)
	if s.options.Persist {
		values[wire.Persist] = 1
	}
	if _, err := c.Call(ctx, wire.Command{Op: wire.OpOpen, Open: &wire.Open{Address: s.Server.Address(), Settings: values}}); err != nil {
		return nil, err
	}
	reply, err := c.Call(ctx, wire.Command{Op: wire.OpUsage})
	if err == nil && reply.Usage != nil {
		s.LibraryVersion = reply.Usage.Version
	}
	return c, err
}

// Produce lets a client enqueue and fails when it could not enqueue everything.
func (s *Stage) Produce(ctx context.Context, c *contender.Client, order wire.Produce) (*wire.Produced, error) {
	if order.Bytes == 0 {
		order.Bytes = DefaultBytes
	}
	reply, err := c.Call(ctx, wire.Command{Op: wire.OpProduce, Produce: &order})
	switch {
	case err != nil:
		return nil, err
	case reply.Produced == nil:
		return nil, errors.New("produce: no answer in the reply")
	case reply.Produced.Jobs != order.Jobs && order.Limit == 0:
		return nil, fmt.Errorf("produce: %d of %d jobs were enqueued", reply.Produced.Jobs, order.Jobs)
	}
	return reply.Produced, nil
}

// Fill enqueues jobs by the contender's fastest way.
func (s *Stage) Fill(ctx context.Context, order wire.Produce) error {
	return s.FillWith(ctx, nil, order)
}

// FillWith is Fill with settings that override those chosen.
func (s *Stage) FillWith(ctx context.Context, over map[string]int, order wire.Produce) error {
	purpose := contender.ForSingles
	if s.Can.Has(contender.Bulk) {
		purpose = contender.ForBulk
	}
	c, err := s.Launch(ctx, purpose, over)
	if err != nil {
		return err
	}
	defer s.dismiss(c)
	_, err = s.Produce(ctx, c, s.Fastest(order))
	return err
}

// dismiss lets one client go before the piece is over.
func (s *Stage) dismiss(c *contender.Client) {
	for i, h := range s.clients {
		if h.Client != c {
			continue
		}
		s.clients = slices.Delete(s.clients, i, i+1)
		if s.Warms {
			s.warm = append(s.warm, h)
		} else {
			c.Close()
		}
		return
	}
}

// Fastest turns an order into the contender's fastest way of enqueueing.
func (s *Stage) Fastest(order wire.Produce) wire.Produce {
	if s.Can.Has(contender.Bulk) {
		order.Goroutines, order.Batch = bulkGoroutines, bulkBatch
		if s.Name == contender.Floor {
			order.Batch = floorBatch
		}
		return order
	}
	order.Goroutines = manyGoroutines
	return order
}

// Work starts a worker and returns when its start began.
func (s *Stage) Work(ctx context.Context, c *contender.Client, order wire.Work) (int64, error) {
	reply, err := c.Call(ctx, wire.Command{Op: wire.OpWork, Work: &order})
	return reply.Started, err
}

// StopWork ends a worker softly.
func (s *Stage) StopWork(ctx context.Context, c *contender.Client) error {
	_, err := c.Call(ctx, wire.Command{Op: wire.OpStop})
	return err
}

const (
	// DefaultBytes is the size of a payload where a case says nothing.
	DefaultBytes = 100

	bulkGoroutines = 4
	bulkBatch      = 1000
	floorBatch     = 100
	manyGoroutines = 50
)
