package conformance_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

func TestSpec_C17_ExhaustedInGoDiscardedInStorage(t *testing.T) {
	if cyclone.StepExhausted != "discarded" {
		t.Errorf("StepExhausted reads %q", cyclone.StepExhausted)
	}
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		action := fails(l.Visits(), 9, cyclone.WithMaxAttempts(1))
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilState(id, cyclone.StepExhausted)
		if !l.Has("discarded:default") {
			l.Errorf("the storage has keys %v, want one that says discarded", l.Keys())
		}
		steps, err := l.Client().ListSteps(ctx, id)
		if err != nil || len(steps) != 1 || steps[0].State != cyclone.StepExhausted || steps[0].Attempts != 1 || steps[0].Error != errBoom.Error() {
			l.Errorf("ListSteps returned %+v (%v)", steps, err)
		}
		page, err := l.Client().List(ctx, queue.ListQuery{State: cyclone.StepExhausted})
		if err != nil || len(page.Steps) != 1 || page.Steps[0].RunID != id {
			l.Errorf("List returned %+v (%v)", page, err)
		}
		run, err := l.Client().GetRun(ctx, id)
		if err != nil || run.State != cyclone.RunFailed {
			l.Errorf("GetRun returned %+v (%v), want a failed run", run, err)
		}
	})
}

func TestSpec_C23_RunAndNodeAreTheSameOnEveryExecution(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		type identity struct {
			id        cyclone.RunID
			node, key string
		}
		var mu sync.Mutex
		seen := map[cyclone.RunID][]identity{}
		note := func(ctx cyclone.Context) int {
			mu.Lock()
			defer mu.Unlock()
			seen[ctx.RunID()] = append(seen[ctx.RunID()], identity{ctx.RunID(), ctx.Node(), ctx.IdempotencyKey()})
			return len(seen[ctx.RunID()])
		}
		results := []error{errBoom, cyclone.Snooze(1), cyclone.RetryAfter(errBoom, 0), nil}
		send := cyclone.NewAction("send", func(ctx cyclone.Context, _ string) error { return results[note(ctx)-1] }, soon)
		charge := cyclone.NewAction("charge", func(ctx cyclone.Context, _ string) error { return results[note(ctx)-1] }, soon)
		l.Start(worker.Config{}, send, charge)
		ids := []cyclone.RunID{lab.Enqueue(l, send, ""), lab.Enqueue(l, send, ""), lab.Enqueue(l, charge, "")}
		l.UntilEmpty()
		keys := map[string]bool{}
		for i, id := range ids {
			all := seen[id]
			if len(all) != 4 {
				l.Fatalf("%d executions of run %v, want 4", len(all), id)
			}
			if same := slices.Compact(slices.Clone(all)); len(same) != 1 {
				l.Errorf("run %v is known as %v", id, same)
			}
			if want := []string{"send", "send", "charge"}[i]; all[0].node != want {
				l.Errorf("run %v has node %q, want %q", id, all[0].node, want)
			}
			keys[all[0].key] = true
		}
		if len(keys) != 3 {
			l.Errorf("idempotency keys %v, want three different ones", keys)
		}
	})
}
