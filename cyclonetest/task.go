package cyclonetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// replays is how often a task may be suspended before it is taken to go on for ever.
const replays = 100_000

// drive runs a task's handler from the top until it is not suspended any more.
func (a *attempt) drive(ctx context.Context, def *wire.Definition, decode func(any) error) (any, error) {
	a.memory.awake()
	for range replays {
		j := &journal{memory: a.memory, ctx: ctx, logger: a.logger, rule: def.Rule(new(wire.Options), retry.Policy{}, 0), uses: map[string]int{}}
		end := j.attempt(def, decode)
		switch {
		case end.panicked:
			panic(end.value)
		case j.yielded:
			return nil, context.Cause(ctx)
		case len(j.pauses) == 0 && end.returned:
			return end.out, end.err
		case len(j.pauses) == 0:
			return nil, errors.New("cyclonetest: the handler called runtime.Goexit")
		}
		if err := a.memory.pass(j.pauses); err != nil {
			return nil, err
		}
		a.begin() // what a suspended attempt has added counts for nothing
	}
	return nil, fmt.Errorf("cyclonetest: the task was suspended %d times: it does not end", replays)
}

// ending is how a handler ended.
type ending struct {
	out                any
	err                error
	returned, panicked bool
	value              any // of the panic
}

// attempt calls the handler once, in a goroutine that a suspension can end.
func (j *journal) attempt(def *wire.Definition, decode func(any) error) (end ending) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if end.returned {
				return
			}
			if end.value = recover(); end.value != nil {
				end.panicked = true
			}
		}()
		end.out, end.err = def.Invoke(context.WithValue(j.ctx, wire.JournalKey{}, wire.Journal(j)), decode)
		end.returned = true
	}()
	<-done
	j.close()
	return end
}

// awake sets the clock when it has not been set.
func (m *memory) awake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = max(m.now, time.Now().UnixMilli())
}

// pass writes what comes with a suspension and makes it be over.
func (m *memory) pass(pauses []wire.Suspension) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due int64
	var awaited []string
	for _, s := range pauses {
		for _, e := range s.Entries {
			m.entries[entryName(e.Kind, e.ID)] = e.Value
		}
		if s.Signal != "" && len(m.signals[s.Signal]) > 0 {
			return nil // it has come meanwhile
		}
		switch {
		case s.DueMS == 0:
			awaited = append(awaited, s.Signal)
		case due == 0 || s.DueMS < due:
			due = s.DueMS
		}
	}
	if due == 0 {
		return fmt.Errorf("cyclonetest: the task waits for %s: give it with Signal", strings.Join(awaited, ", "))
	}
	m.now = max(m.now, due)
	return nil
}

// childRun is the id of every child run.
const childRun = 2

// runChild calls a child's handler and returns its outcome as its parent reads it. A
// handler that only a mistake of the test keeps from running is an error.
func (j *journal) runChild(spec *wire.Spec) ([]byte, error) {
	payload, err := codec.Marshal(spec.Input)
	if err != nil {
		return nil, fmt.Errorf("input of %s: %w", spec.Kind, err)
	}
	child := &attempt{
		Context: j.ctx, ordinal: 1, limit: spec.Def.Class.MaxAttempts(), run: childRun, node: spec.Kind, queue: wire.DefaultQueue,
		meta: map[string]string{}, logger: j.logger, memory: newMemory(), outputs: outputs{},
	}
	child.begin()
	decode := func(into any) error { return codec.Unmarshal(payload, into) }
	var out any
	if spec.Def.Class == wire.ClassTask {
		out, err = child.drive(child, spec.Def, decode)
	} else {
		out, err = spec.Def.Invoke(child, decode)
	}
	if err == nil {
		err = child.completed()
	}
	if err == nil {
		payload, err = codec.Marshal(out)
	}
	if err != nil {
		return record.AppendFailure(nil, &record.Outcome{
			Code: retry.Decide(retry.Rule{MaxAttempts: 1}, 1, err, 0).Code, Message: err.Error(), Attempts: 1,
			Run: childRun, State: string(cyclone.RunFailed), Node: spec.Kind,
		}), nil
	}
	return record.AppendValue(nil, codec.ID(), payload), nil
}
