package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

var (
	// ErrSignalsFull is returned when a run has as many signals queued as it can
	// have. Nothing was sent.
	ErrSignalsFull = errors.New("queue: the run has too many signals queued")
)

// SignalOption is an option of [Client.Signal]. The zero value does nothing.
type SignalOption struct{ key string }

// SignalKey makes a signal safe to send again: one that is sent under a key that
// the run has seen is dropped. A run remembers its latest thousand keys.
func SignalKey(key string) SignalOption { return SignalOption{key} }

// Signal sends a signal with a payload, which may be nil, to a run. The run's task
// or node that waits for the name gets it, whether it waits already or will later,
// the oldest signal of a name first and each of them once.
//
// It returns [cyclone.ErrNotFound] when there is no such run, [ErrFinished] when it
// has ended, and [ErrSignalsFull] when too many of its signals wait to be taken.
func (c *Client) Signal(ctx context.Context, id cyclone.RunID, name string, payload any, opts ...SignalOption) error {
	err := c.signal(ctx, id, name, payload, opts)
	if err != nil {
		return fmt.Errorf("queue: signal %.64s to run %v: %w", name, id, err)
	}
	return nil
}

func (c *Client) signal(ctx context.Context, id cyclone.RunID, name string, payload any, opts []SignalOption) error {
	if err := wire.CheckName("name", name); err != nil {
		return err
	}
	var o SignalOption
	for _, opt := range opts {
		if opt.key != "" {
			o = opt
		}
	}
	if len(o.key) > wire.MaxRequestKey {
		return fmt.Errorf("key of %d bytes: must be at most %d", len(o.key), wire.MaxRequestKey)
	}
	codec, encoded, err := c.codecs.encode(payload)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if len(encoded) > wire.MaxSignal {
		return fmt.Errorf("payload of %d bytes: must be at most %d", len(encoded), wire.MaxSignal)
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	if id <= 0 {
		return cyclone.ErrNotFound
	}
	p := d.of(int64(id))
	targets, err := p.signalTargets(ctx, []string{id.String()})
	if err != nil {
		return err
	}
	outcome, err := p.sendSignal(ctx, &signalCall{
		to: targets[id.String()], name: name, key: o.key, payload: record.AppendValue(nil, codec, encoded),
	})
	if err != nil {
		return err
	}
	return signalError(outcome)
}

func signalError(outcome string) error {
	switch outcome {
	case luascripts.SignalAccepted, luascripts.SignalDuplicate:
		return nil
	case luascripts.SignalUnknown:
		return cyclone.ErrNotFound
	case luascripts.SignalEnded:
		return ErrFinished
	case luascripts.SignalFull:
		return ErrSignalsFull
	}
	return ErrPayloadTooLarge
}

// signalTarget is the run that a signal is for. queue is that of a single task, ""
// for a run of many steps or none.
type signalTarget struct {
	id    string
	key   string // of its signals
	queue string
}

// in is the target as a script has it; at gives a queue's position in the call.
func (t signalTarget) in(at func(string) int) luascripts.SignalTarget {
	out := luascripts.SignalTarget{ID: t.id, Signals: t.key}
	if t.queue != "" {
		out.Task, out.Queue = true, at(t.queue)
	}
	return out
}

// signalTargets finds out what the runs are. Of one that is gone the script tells.
func (p *partition) signalTargets(ctx context.Context, runs []string) (map[string]signalTarget, error) {
	bodies := make([]*redis.StringCmd, len(runs))
	pipe := p.client.rdb.Pipeline()
	for i, run := range runs {
		bodies[i] = pipe.HGet(ctx, p.keys.steps(), run)
	}
	_, _ = pipe.Exec(ctx) // each command carries its own error
	targets := make(map[string]signalTarget, len(runs))
	for i, run := range runs {
		body, err := bodies[i].Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		t := signalTarget{id: run, key: p.keys.run(run)}
		var env Envelope
		if err == nil && env.Decode(body) == nil && env.Codec != codecGraph {
			t.key, t.queue = p.keys.journal(run), env.Queue
		}
		targets[run] = t
	}
	return targets, nil
}

// signalCall is a signal to send, or, without sending one, to rouse who waits for.
type signalCall struct {
	to        signalTarget
	name, key string
	payload   []byte
	rouse     bool
	queues    []string // to rouse in
}

// maxSignals is how many signals of a run may wait to be taken.
const maxSignals = 1000

// rouseQueues is how many queues one call rouses in.
const rouseQueues = 20

// sendSignal sends a signal and rouses the steps that wait for it, wherever they
// wait.
func (p *partition) sendSignal(ctx context.Context, s *signalCall) (outcome string, err error) {
	first := ""
	for try := 0; ; try++ {
		reply, err := p.signalOnce(ctx, s)
		if err != nil {
			return first, err
		}
		if first == "" {
			first = reply.Outcome
		}
		if len(reply.Queues) == 0 || try == rouseTries {
			return first, nil // what is left is the sweep's
		}
		s.rouse, s.payload, s.queues = true, nil, reply.Queues[:min(len(reply.Queues), rouseQueues)]
	}
}

const rouseTries = 100

func (p *partition) signalOnce(ctx context.Context, s *signalCall) (luascripts.SignalReply, error) {
	reply, err := p.operate(ctx, luascripts.Signal, func(call *luascripts.Call) {
		in := luascripts.SignalInput{
			Channels: p.channels(), Partition: p.number, Name: s.name, Key: s.key, Payload: string(s.payload), Rouse: s.rouse,
			MaxBytes: p.client.maxBody(), MaxSignals: maxSignals,
		}
		at := func(name string) int { return queueAmong(&in.Queues, p, name) }
		in.To = s.to.in(at)
		for _, q := range s.queues {
			at(q)
		}
		k := p.keys
		luascripts.SignalCall(call, &luascripts.SignalKeys{
			Steps: k.steps(), Sess: k.sess(), Stats: k.stats(), Paused: k.paused(), Sweep: k.sweep(),
			Journals: k.journals(), Signals: s.to.key,
		}, &in)
	})
	if err != nil {
		return luascripts.SignalReply{}, refine(err)
	}
	return luascripts.ParseSignal(reply), nil
}
