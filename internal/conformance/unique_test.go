package conformance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// again enqueues and returns the whole answer.
func again(l *lab.Lab, in string, opts ...cyclone.EnqueueOption) (*cyclone.Run, error) {
	l.Helper()
	return cyclone.EnqueueAction(context.Background(), l.Client(), cyclone.DeclareAction[string]("job"), in, opts...)
}

// mustFind enqueues and expects the holder's run.
func mustFind(l *lab.Lab, want cyclone.RunID, in string, opts ...cyclone.EnqueueOption) {
	l.Helper()
	run, err := again(l, in, opts...)
	if err != nil || run.ID() != want || !run.Existing() {
		l.Errorf("got %v (%v), want the existing run %v", run, err, want)
	}
}

// mustMake enqueues and expects a new run.
func mustMake(l *lab.Lab, in string, opts ...cyclone.EnqueueOption) cyclone.RunID {
	l.Helper()
	run, err := again(l, in, opts...)
	if err != nil {
		l.Fatal(err)
	}
	if run.Existing() {
		l.Errorf("got the existing run %v, want a new one", run.ID())
	}
	return run.ID()
}

func uniqueBy(key string) cyclone.EnqueueOption { return cyclone.WithUnique(cyclone.Unique{Key: key}) }

func TestUniqueWhileUnfinished(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		id := mustMake(l, "one", uniqueBy("k"))
		mustFind(l, id, "another input", uniqueBy("k"))
		mustMake(l, "one", uniqueBy("other key"))
		mustMake(l, "one", uniqueBy("k"), cyclone.WithQueue("elsewhere"))
		mustMake(l, "one") // without uniqueness it does not matter

		hold := make(chan struct{})
		results := make(chan error, 2)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if ctx.RunID() != id {
				return nil
			}
			<-hold
			return <-results
		})
		l.Start(worker.Config{}, action)
		l.UntilState(id, cyclone.StepRunning)
		mustFind(l, id, "while running", uniqueBy("k"))
		results <- cyclone.RetryAfter(errBoom, time.Hour)
		close(hold)
		l.UntilState(id, cyclone.StepRetrying)
		mustFind(l, id, "while retrying", uniqueBy("k"))
		results <- nil
		if err := l.Client().RunNow(context.Background(), id); err != nil {
			l.Fatal(err)
		}
		l.UntilGone(id)
		id2 := mustMake(l, "after the completion", uniqueBy("k"))
		l.UntilGone(id2)
	})
}

// Without a key the input is the key.
func TestUniqueInput(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		id := mustMake(l, "same", uniqueBy(""))
		mustFind(l, id, "same", uniqueBy(""))
		mustMake(l, "different", uniqueBy(""))
	})
}

// The key is free as soon as its holder has ended, however it did.
func TestUniqueKeyIsFreeAfterEveryEnd(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		discard := mustMake(l, "discard", uniqueBy("discard"))
		cancel := mustMake(l, "cancel", uniqueBy("cancel"), cyclone.WithDelay(time.Hour))
		remove := mustMake(l, "delete", uniqueBy("delete"), cyclone.WithDelay(time.Hour))
		expire := mustMake(l, "expire", uniqueBy("expire"), cyclone.WithExpiry(time.Millisecond))
		enqueued := l.Now()
		l.Until("it expires", func() bool { return l.Now().Sub(enqueued) > 10*time.Millisecond })
		w := l.Start(worker.Config{}, cyclone.NewAction("job", func(cyclone.Context, string) error { return cyclone.Permanent(errBoom) }))
		l.UntilState(discard, cyclone.StepExhausted)
		l.UntilState(expire, cyclone.StepExhausted)
		_ = w.Stop()
		mustCancel(l, cancel)
		if err := l.Client().Delete(ctx, remove); err != nil {
			l.Fatal(err)
		}
		purged := mustMake(l, "purge", uniqueBy("purge"))
		if _, err := l.Client().Purge(ctx, "default", nil); err != nil {
			l.Fatal(err)
		}
		if l.Step(purged) != nil {
			l.Error("a step was not purged")
		}
		for _, key := range []string{"discard", "cancel", "delete", "expire", "purge"} {
			mustMake(l, "again", uniqueBy(key))
		}
	})
}

// An operator's retry takes the key again, or fails when another step has it.
func TestRetryTakesTheUniqueKeyAgain(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		id := mustMake(l, "first", uniqueBy("k"))
		w := l.Start(worker.Config{}, cyclone.NewAction("job", func(cyclone.Context, string) error { return cyclone.Permanent(errBoom) }))
		l.UntilState(id, cyclone.StepExhausted)
		_ = w.Stop()
		second := mustMake(l, "second", uniqueBy("k"))
		var duplicate *cyclone.DuplicateError
		if err := l.Client().Retry(ctx, id, "job"); !errors.As(err, &duplicate) || duplicate.Holder != second {
			l.Errorf("Retry returned %v, want a DuplicateError that names run %v", err, second)
		}
		if state := l.State(id); state != cyclone.StepExhausted {
			l.Errorf("the refused step is %s", state)
		}
		if err := l.Client().Delete(ctx, second); err != nil {
			l.Fatal(err)
		}
		if err := l.Client().Retry(ctx, id, "job"); err != nil {
			l.Fatal(err)
		}
		mustFind(l, id, "third", uniqueBy("k"))
	})
}

// A key with a duration is held that long, whatever becomes of its step.
func TestUniqueForADuration(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		hour := cyclone.WithUnique(cyclone.Unique{Key: "k", Scope: cyclone.For(time.Hour)})
		id := mustMake(l, "", hour)
		done := cyclone.NewAction("job", func(cyclone.Context, string) error { return nil })
		w := l.Start(worker.Config{}, done)
		l.Pass(time.Second)
		_ = w.Stop()
		if l.Step(id) != nil {
			l.Error("the step is not completed")
		}
		mustFind(l, id, "", hour)
		l.Pass(59*time.Minute + 57*time.Second)
		mustFind(l, id, "", hour)
		l.Pass(2 * time.Second)
		if next := mustMake(l, "", hour); next == id {
			l.Error("the same run again")
		}
		// A step that outlives its key's duration does not hold it on.
		long := mustMake(l, "", cyclone.WithUnique(cyclone.Unique{Key: "long", Scope: cyclone.For(time.Minute)}), cyclone.WithDelay(time.Hour))
		l.Pass(2 * time.Minute)
		if next := mustMake(l, "", cyclone.WithUnique(cyclone.Unique{Key: "long", Scope: cyclone.For(time.Minute)})); next == long {
			l.Error("the same run again")
		}
		l.Pass(3 * time.Hour)
		l.Start(worker.Config{}, done)
		l.Pass(2 * time.Minute)
		if left := l.Leftovers(); len(keysOf(l, "uniq")) > 0 {
			l.Errorf("unique keys are left without cause: %q", left)
		}
	})
}

// keysOf returns the leftovers under names that begin so.
func keysOf(l *lab.Lab, name string) (found []string) {
	for _, key := range l.Keys() {
		if l.Named(key, name) {
			found = append(found, key)
		}
	}
	return found
}

func TestUniqueReject(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		reject := cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: cyclone.Reject})
		id := mustMake(l, "", reject)
		before := l.Snapshot()
		run, err := again(l, "", reject)
		var duplicate *cyclone.DuplicateError
		if run != nil || !errors.As(err, &duplicate) || duplicate.Key != "k" || duplicate.Holder != id {
			l.Errorf("got %v (%v), want a DuplicateError that names key and holder", run, err)
		}
		if got := l.Step(id); got == nil || l.Count() != 1 {
			l.Errorf("something was written: %q, before %q", l.Snapshot(), before)
		}
	})
}

// Replace gives a holder that has not started the new input and the new options.
func TestUniqueReplace(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		replace := cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: cyclone.Replace})
		id := mustMake(l, "old", replace, cyclone.WithDelay(time.Hour))
		mustFind(l, id, "newer", replace, cyclone.WithDelay(2*time.Hour), cyclone.WithMaxAttempts(7))
		s := l.Step(id)
		if wait := s.Due.Sub(l.Now()); s.State != cyclone.StepScheduled || wait < 110*time.Minute || s.MaxAttempts != 7 {
			l.Errorf("the replaced step is %s, due in %v with %d attempts; want scheduled in 2h with 7", s.State, wait, s.MaxAttempts)
		}
		mustFind(l, id, "newest", replace) // at once
		inputs := make(chan string, 2)
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, in string) error {
			inputs <- in
			<-hold
			if ctx.Attempt() == 1 {
				return cyclone.RetryAfter(errBoom, 0)
			}
			return nil
		})
		l.Start(worker.Config{}, action)
		if in := <-inputs; in != "newest" {
			l.Errorf("the handler got %q, want the newest input", in)
		}
		mustFind(l, id, "too late", replace)
		close(hold)
		if in := <-inputs; in != "newest" {
			l.Errorf("the second attempt got %q, want the input of the first", in)
		}
		l.UntilGone(id)
	})
}

// A step with another priority is served by its new one.
func TestUniqueReplaceMovesBetweenPriorities(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		replace := cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: cyclone.Replace})
		id := mustMake(l, "old", replace, cyclone.WithPriority(cyclone.Low))
		mustFind(l, id, "new", replace, cyclone.WithPriority(cyclone.High))
		inputs := make(chan string, 2)
		l.Start(worker.Config{}, cyclone.NewAction("job", func(_ cyclone.Context, in string) error { inputs <- in; return nil }))
		if in := <-inputs; in != "new" {
			l.Errorf("the handler got %q, want the new input", in)
		}
		l.UntilGone(id)
	})
}

// A request key finds its run for a day, finished or not.
func TestRequestKey(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		id := mustMake(l, "", cyclone.WithRequestKey("order 7"))
		mustFind(l, id, "", cyclone.WithRequestKey("order 7"))
		mustMake(l, "", cyclone.WithRequestKey("order 8"))
		mustMake(l, "", uniqueBy("order 7")) // another kind of key
		gone := mustMake(l, "", cyclone.WithRequestKey("order 9"))
		if err := l.Client().Delete(l.Context(), gone); err != nil {
			l.Fatal(err)
		}
		mustFind(l, gone, "", cyclone.WithRequestKey("order 9")) // it was made, and removed since
		w := l.Start(worker.Config{}, cyclone.NewAction("job", func(cyclone.Context, string) error { return nil }))
		l.Pass(time.Minute)
		_ = w.Stop()
		if l.Count() != 0 {
			l.Error("the steps are not completed")
		}
		l.Pass(23 * time.Hour)
		mustFind(l, id, "", cyclone.WithRequestKey("order 7"))
		l.Pass(2 * time.Hour)
		if next := mustMake(l, "", cyclone.WithRequestKey("order 7")); next == id {
			l.Error("the same run again")
		}
	})
}

// Of many who enqueue one key at once, exactly one makes a run.
func TestUniqueKeyHasOneWinner(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const clients, rounds = 4, 25
		var made atomic.Int64
		for round := range rounds {
			key := uniqueBy(string(rune('a' + round)))
			var all sync.WaitGroup
			for range clients {
				c, _, _ := l.NewClient(l.Config())
				all.Go(func() {
					run, err := cyclone.EnqueueAction(context.Background(), c, cyclone.DeclareAction[string]("job"), "", key)
					if err != nil {
						l.Errorf("enqueue: %v", err)
					} else if !run.Existing() {
						made.Add(1)
					}
				})
			}
			all.Wait()
		}
		if n := made.Load(); n != rounds || l.Count() != rounds {
			l.Errorf("%d runs were made and %d are stored, want %d", n, l.Count(), rounds)
		}
	})
}

// Inside one batch the first of a key makes the run and the others find it.
func TestUniqueKeyWithinABatch(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		job := cyclone.DeclareAction[string]("job")
		runs, err := cyclone.EnqueueMany(context.Background(), l.Client(),
			job.With("1", uniqueBy("k")), job.With("2"), job.With("3", uniqueBy("k")), job.With("4", uniqueBy("l")))
		if err != nil {
			l.Fatal(err)
		}
		if runs[0].ID() != runs[2].ID() || runs[0].Existing() || !runs[2].Existing() || runs[1].Existing() || runs[3].Existing() {
			l.Errorf("runs %+v %+v %+v %+v", runs[0], runs[1], runs[2], runs[3])
		}
		if l.Count() != 3 {
			l.Errorf("%d steps are stored, want 3", l.Count())
		}
	})
}
