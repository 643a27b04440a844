package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// unique gives a run a unique key.
func unique(spec *wire.RunSpec, key string, conflict wire.Conflict) *wire.RunSpec {
	spec.Options.Set |= wire.FieldUnique
	spec.Options.Unique = wire.Unique{Key: key, Conflict: conflict}
	return spec
}

// TestG13_UniqueRuns: one run at a time holds a key, and a retry takes it again.
func TestG13_UniqueRuns(t *testing.T) {
	everywhere(t, func(l *lab) {
		first := l.start(unique(graphSpec("a"), "k", wire.ConflictExisting))
		receipt, err := l.client.EnqueueRun(l.ctx, unique(graphSpec("a"), "k", wire.ConflictExisting))
		if l.ok(err); receipt.ID != first || !receipt.Existing {
			l.Errorf("%+v, want run %v", receipt, first)
		}
		_, err = l.client.EnqueueRun(l.ctx, unique(graphSpec("a"), "k", wire.ConflictReject))
		var duplicate *cyclone.DuplicateError
		if !errors.As(err, &duplicate) || duplicate.Holder != first || duplicate.Key != "k" {
			l.Errorf("rejected with %v", err)
		}
		if _, err := l.client.EnqueueRun(l.ctx, unique(graphSpec("a"), "k", wire.ConflictReplace)); err == nil {
			l.Error("a run of many steps was replaced")
		}
		c := l.claimNodes()["a"]
		l.advance(Discard(c, l.failure(c, "boom")))
		l.wantAudit()
		second := l.start(unique(graphSpec("a"), "k", wire.ConflictReject))
		if err := l.client.RetryAll(l.ctx, first); !errors.As(err, &duplicate) || duplicate.Holder != second {
			l.Errorf("retry of a run whose key is held: %v", err)
		}
		l.drainRuns()
		l.ok(l.client.RetryAll(l.ctx, first))
		l.wantAudit()
		if receipt, err = l.client.EnqueueRun(l.ctx, unique(graphSpec("a"), "k", wire.ConflictExisting)); receipt.ID != first {
			l.Errorf("%+v, %v, want run %v", receipt, err, first)
		}
	})
}

// TestNothingIsWrittenForABadRun, and all that is wrong is told.
func TestNothingIsWrittenForABadRun(t *testing.T) {
	everywhere(t, func(l *lab) {
		spec := graphSpec("a", "b: a")
		spec.Nodes[0].Input.Value = make(chan int)
		spec.Nodes[1].Input.Value = make([]byte, wire.MaxPayload+1)
		_, err := l.client.EnqueueRun(l.ctx, spec)
		var faults *wire.RunFaults
		if !errors.As(err, &faults) || len(faults.Faults) != 2 {
			l.Errorf("refused with %v", err)
		}
		spec = graphSpec("a")
		spec.Options.Set |= wire.FieldUnique
		if _, err := l.client.EnqueueRun(l.ctx, spec); err == nil || !strings.Contains(err.Error(), "unique") {
			l.Errorf("a unique run without a key: %v", err)
		}
		l.wantFixedKeysOnly()
	})
}

// TestDeadlineEndsTheRun, and a reopened run has none.
func TestDeadlineEndsTheRun(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{}, func(l *lab) {
		spec := graphSpec("a", "b: a")
		spec.Deadline = time.Minute
		id := l.start(spec)
		time.Sleep(time.Minute - time.Second)
		l.sweep()
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b blocked")
		time.Sleep(2 * time.Second)
		l.sweep()
		l.wantNodes(id, cyclone.RunFailed, "a cancelled", "b cancelled")
		var failed *cyclone.RunError
		if err := l.client.Await(l.ctx, id, nil); !errors.As(err, &failed) || failed.Code != "timeout" {
			l.Errorf("await: %v", err)
		}
		l.wantAudit()
	})
}

// TestRunsAreForgotten when their time has passed, with all that belongs to them.
func TestRunsAreForgotten(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{}, func(l *lab) {
		spec := graphSpec("a", "b")
		spec.Options.Set, spec.Options.Retention = wire.FieldRetention, time.Hour
		done := l.start(spec)
		l.drainRuns()
		id := l.start(spec)
		claims := l.claimNodes()
		l.advance(l.done(claims["a"], "A"), Discard(claims["b"], l.failure(claims["b"], "boom")))
		time.Sleep(time.Hour - time.Minute)
		l.ok(l.store.Maintain(l.ctx, nil, claimLease))
		l.wantNodes(done, cyclone.RunCompleted, "a completed", "b completed")
		time.Sleep(2 * time.Minute)
		l.ok(l.store.Maintain(l.ctx, nil, claimLease))
		if err := l.client.Await(l.ctx, done, nil); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("await: %v", err)
		}
		l.wantNodes(id, cyclone.RunFailed, "a completed", "b discarded") // somebody may want to repair it
		l.wantAudit()
		time.Sleep(DefaultDiscardedRetention)
		for range 3 {
			l.ok(l.store.Maintain(l.ctx, nil, claimLease))
		}
		if err := l.client.Await(l.ctx, id, nil); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("await: %v", err)
		}
		l.wantAudit()
		l.wantFixedKeysOnly()
	})
}

// TestInputsOfNodes are put together from values and outputs.
func TestInputsOfNodes(t *testing.T) {
	everywhere(t, func(l *lab) {
		type form struct {
			Name  string
			Inner struct{ Left, Right string }
		}
		spec := graphSpec("a", "b", "all: a b", "join: a b")
		refs := []wire.InputRef{{Node: 1}, {Node: 0}}
		spec.Nodes[2].Input = wire.RunInput{Mode: wire.FromAll, Refs: refs}
		spec.Nodes[3].Input = wire.RunInput{Mode: wire.FromJoin, Value: form{Name: "given"}, Refs: []wire.InputRef{
			{Node: 0, Path: []string{"Inner", "Left"}}, {Node: 1, Path: []string{"Inner", "Right"}},
		}}
		l.start(spec)
		claims := l.claimNodes()
		l.advance(l.done(claims["a"], "A"), l.done(claims["b"], "B"))
		claims = l.claimNodes()
		var all []string
		var joined, want form
		l.ok(l.store.Decode(claims["all"], &all))
		l.ok(l.store.Decode(claims["join"], &joined))
		want.Name, want.Inner.Left, want.Inner.Right = "given", "A", "B"
		if diff := cmp.Diff([]string{"B", "A"}, all); diff != "" || joined != want {
			l.Errorf("%s %+v", diff, joined)
		}
		var wrong int
		if err := l.store.Decode(claims["all"], &wrong); err == nil {
			l.Error("outputs fit into a number")
		}
		var numbers []int
		if err := l.store.Decode(claims["all"], &numbers); err == nil || !strings.Contains(err.Error(), "the output of node b: ") {
			l.Errorf("outputs that do not fit: %v", err)
		}
		var fieldless struct{ Name string }
		if err := l.store.Decode(claims["join"], &fieldless); err == nil || !strings.HasSuffix(err.Error(), "for the output of node a") {
			l.Errorf("an output without a field: %v", err)
		}
		var out string
		if found, err := l.store.Outputs(claims["all"]).Output("a", &out); !found || err != nil || out != "A" {
			l.Errorf("output of a: %q, %v, %v", out, found, err)
		}
		if found, err := l.store.Outputs(claims["all"]).Output("join", &out); found || err != nil {
			l.Errorf("output of what it does not depend on: %v, %v", found, err)
		}
	})
}

// TestSignalsReachWhoWaits, and are refused when nobody will.
func TestSignalsReachWhoWaits(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a", "b"))
		claims := l.claimNodes()
		for _, c := range claims {
			lost, err := l.store.Suspend(l.ctx, c.partition, []Settlement{
				Suspend(c, 1, &Pause{In: wire.SuspendedWaiting, Signals: []string{"go"}, First: true}, nil),
			})
			if l.ok(err); len(lost) > 0 {
				l.Fatal(lost)
			}
		}
		l.wantNodes(id, cyclone.RunRunning, "a waiting", "b waiting")
		l.wantAudit()
		l.ok(l.client.Signal(l.ctx, id, "go", "now", SignalKey("1")))
		l.ok(l.client.Signal(l.ctx, id, "go", "now", SignalKey("1")))
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b ready")
		l.ok(l.client.Cancel(l.ctx, id))
		if err := l.client.Signal(l.ctx, id, "go", nil); !errors.Is(err, ErrFinished) {
			l.Errorf("signal to a run that has ended: %v", err)
		}
		if err := l.client.Signal(l.ctx, id+1000, "go", nil); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("signal to no run: %v", err)
		}
		if err := l.client.Signal(l.ctx, l.start(graphSpec("a")), "no name", nil); err == nil {
			l.Error("a bad name was accepted")
		}
		l.wantAudit()
	})
}

// TestOutcomesOfChildrenReachTheirParents as signals, once each.
func TestOutcomesOfChildrenReachTheirParents(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("parent"))
		parent := l.claimNodes()["parent"]
		for name, end := range map[string]func(c *Claimed) Settlement{
			"good#1": func(c *Claimed) Settlement { return l.done(c, "out") },
			"bad#1":  func(c *Claimed) Settlement { return Discard(c, l.failure(c, "boom")) },
		} {
			child, err := l.store.PrepareChildRun(parent, name, returning(graphSpec("a")))
			l.ok(err)
			started, err := l.store.StartChild(l.ctx, child)
			l.ok(err)
			if started.Existing {
				l.Errorf("a new child existed: %+v", started)
			}
			started.Existing = true
			if again, err := l.store.StartChild(l.ctx, child); err != nil || again != started {
				l.Errorf("started again: %+v, %v", again, err)
			}
			if l.part(started.ID) != l.part(id) {
				l.Errorf("the child lives on another partition")
			}
			c := l.claimNodes()["a"]
			l.advance(end(c))
		}
		run := l.part(id).keys.run(id.String())
		for name, want := range map[string]record.Kind{"good#1": record.Value, "bad#1": record.Failure} {
			payload, err := l.server.Client.HGet(l.ctx, run, "g:"+name+":1").Bytes()
			l.ok(err)
			got, err := record.Decode(payload)
			if l.ok(err); got.Kind != want || want == record.Failure && (got.Message != "boom" || got.Node != "a" || got.Run == 0) {
				l.Errorf("%s: %+v", name, got)
			}
		}
		l.wantAudit()
	})
}

// TestEndOfARunIsAnEvent that wakes who waits for it.
func TestEndOfARunIsAnEvent(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a"))
		sub, err := l.client.Subscribe(l.ctx, EventFilter{RunID: id, Types: []cyclone.EventType{cyclone.EventFinished}})
		l.ok(err)
		defer func() { _ = sub.Close() }()
		l.drainRuns()
		for e, err := range sub.Events(l.ctx) {
			if l.ok(err); e.Kind != "flow" || e.Node != "" || e.State != cyclone.StepCompleted || e.RunID != id {
				l.Errorf("%+v", e)
			}
			break
		}
	})
}

// A run of many steps has no time of its own, which is told and not passed over.
func TestTimesOfARunOfManyStepsAreRefused(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a", "b: a"))
		if err := l.client.RunNow(l.ctx, id); !errors.Is(err, ErrManySteps) {
			l.Errorf("run now: %v", err)
		}
		if err := l.client.Reschedule(l.ctx, id, time.Now()); !errors.Is(err, ErrManySteps) {
			l.Errorf("reschedule: %v", err)
		}
	})
}
