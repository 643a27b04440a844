package topology_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// How many of each kind the story has.
const (
	many  = 60
	few   = 12
	heldN = 20
)

// story enqueues, works, fails, looks and repairs. It leaves nothing unfinished, and
// the workers stopped.
func (s *site) story() {
	s.Helper()
	sub := must(s.client.Subscribe(s.Context(), queue.EventFilter{Types: []cyclone.EventType{cyclone.EventCompleted}}))(s)
	defer func() { _ = sub.Close() }()
	s.holdBack()
	keys := s.load()
	s.unique()
	stop := s.work(worker.DefaultLease)
	s.drained("default", "mail", "bulk")
	for _, key := range keys {
		if n := s.jobs.times(key); n != 1 {
			s.Errorf("job %s was done %d times", key, n)
		}
	}
	s.hear(sub, len(keys))
	s.looks()
	s.repairs()
	s.letGo()
	s.waiting()
	s.drained(queueNames...)
	stop()
	s.commands()
	s.sound()
}

// load enqueues the jobs that succeed sooner or later, in batches over all partitions,
// and those that are discarded; it returns the keys of the former.
func (s *site) load() (keys []string) {
	s.Helper()
	var batch []cyclone.Request
	add := func(stem string, n int, request func(key string, i int) cyclone.Request) {
		for i := range n {
			key := stem + strconv.Itoa(i)
			if stem != "broken" {
				keys = append(keys, key)
			}
			batch = append(batch, request(key, i))
		}
	}
	add("plain", many, func(key string, i int) cyclone.Request {
		return plain.With(key, cyclone.WithQueue(queueNames[i%3]), cyclone.WithPriority(cyclone.Priority(i%3)))
	})
	add("late", many, func(key string, i int) cyclone.Request {
		return plain.With(key, cyclone.WithDelay(time.Duration(1+10*i)*time.Millisecond))
	})
	add("unique", few, func(key string, _ int) cyclone.Request {
		return plain.With(key, cyclone.WithUnique(cyclone.Unique{Key: key, Scope: cyclone.For(time.Minute)}))
	})
	add("flaky", many, func(key string, _ int) cyclone.Request { return flaky.With(key, cyclone.WithQueue("mail")) })
	add("sleepy", many, func(key string, _ int) cyclone.Request { return sleepy.With(key) })
	add("report", few, func(key string, _ int) cyclone.Request { return report.With(key) })
	add("sync", few, func(key string, _ int) cyclone.Request { return synced.With(key, cyclone.WithQueue("bulk")) })
	add("broken", few, func(key string, _ int) cyclone.Request { return broken.With(key, cyclone.WithQueue("bulk")) })
	for part := range slices.Chunk(batch, 50) {
		must(s.client.Enqueue(s.Context(), part...))(s)
	}
	return keys
}

// unique asks again for keys that are held.
func (s *site) unique() {
	s.Helper()
	for i := range few {
		key := "unique" + strconv.Itoa(i)
		again := must(cyclone.EnqueueAction(s.Context(), s.client, plain, key, cyclone.WithUnique(cyclone.Unique{Key: key, Scope: cyclone.For(time.Minute)})))(s)
		if !again.Existing() {
			s.Errorf("%s was stored twice", key)
		}
		_, err := cyclone.EnqueueAction(s.Context(), s.client, plain, key,
			cyclone.WithUnique(cyclone.Unique{Key: key, Scope: cyclone.For(time.Minute), OnConflict: cyclone.Reject}))
		if held := (*cyclone.DuplicateError)(nil); !errors.As(err, &held) {
			s.Errorf("%s: %v, want a DuplicateError", key, err)
		}
	}
}

// holdBack fills a paused queue, and one that is purged.
func (s *site) holdBack() {
	s.Helper()
	for _, name := range []string{"held", "scrap"} {
		if err := s.client.Pause(s.Context(), name); err != nil {
			s.Fatal(err)
		}
		for i := range heldN {
			options := []cyclone.EnqueueOption{cyclone.WithQueue(name)}
			if name == "scrap" && i%2 == 0 {
				options = append(options, cyclone.WithDelay(time.Hour))
			}
			must(cyclone.EnqueueAction(s.Context(), s.client, plain, name+strconv.Itoa(i), options...))(s)
		}
	}
	if p := must(s.client.Purge(s.Context(), "scrap", nil))(s); p.Done != heldN {
		s.Errorf("purged %d, want %d", p.Done, heldN)
	}
	if n := s.counts("scrap"); len(n) != 0 {
		s.Errorf("after the purge: %v", n)
	}
}

// letGo resumes the paused queue, in which nothing has moved.
func (s *site) letGo() {
	s.Helper()
	if n := s.counts("held")[cyclone.StepReady]; n != heldN {
		s.Errorf("%d are ready in the paused queue, want %d", n, heldN)
	}
	if err := s.client.Resume(s.Context(), "held"); err != nil {
		s.Fatal(err)
	}
	s.drained("held")
	for i := range heldN {
		if n := s.jobs.times("held" + strconv.Itoa(i)); n != 1 {
			s.Errorf("job held%d was done %d times", i, n)
		}
	}
}

// hear reads n events, of as many runs.
func (s *site) hear(sub *queue.Subscription, n int) {
	s.Helper()
	of := map[cyclone.RunID]int{}
	deadline := time.AfterFunc(patience, func() { _ = sub.Close() })
	defer deadline.Stop()
	for e, err := range sub.Events(s.Context()) {
		if err != nil {
			s.Fatal(err)
		}
		if of[e.RunID]++; of[e.RunID] > 1 {
			s.Errorf("run %v was completed %d times", e.RunID, of[e.RunID])
		}
		if len(of) == n {
			return
		}
	}
	s.Errorf("%d runs were heard of, want %d", len(of), n)
}

// looks lists, counts and reads.
func (s *site) looks() {
	s.Helper()
	ctx := s.Context()
	run := must(cyclone.EnqueueStep(ctx, s.client, report, "asked"))(s)
	if out, err := run.Wait(ctx); err != nil || out != "did asked" {
		s.Errorf("output %q (%v)", out, err)
	}
	info := must(s.client.GetRun(ctx, run.ID()))(s)
	if info.State != cyclone.RunCompleted || len(info.Steps) != 1 {
		s.Errorf("run %+v", info)
	}
	detail := must(s.client.Step(ctx, run.ID(), "report"))(s)
	if string(detail.Input.JSON) != `"asked"` || string(detail.Output.JSON) != `"did asked"` {
		s.Errorf("input %s, output %s", detail.Input.JSON, detail.Output.JSON)
	}
	found := 0
	for cursor := ""; ; {
		page := must(s.client.List(ctx, queue.ListQuery{State: cyclone.StepExhausted, Cursor: cursor, Limit: 5}))(s)
		found += len(page.Steps)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if found != few {
		s.Errorf("%d discarded steps are listed, want %d", found, few)
	}
	stats := must(s.client.Stats(ctx, 1))(s)
	if n := stats.Totals[cyclone.EventDiscarded]; n != few {
		s.Errorf("%d are counted as discarded, want %d", n, few)
	}
	if list := must(s.client.Workers(ctx))(s); len(list) != 2 {
		s.Errorf("%d workers", len(list))
	}
}

// repairs opens the discarded steps again: one by its run, some by the command line,
// the rest at once.
func (s *site) repairs() {
	s.Helper()
	ctx := s.Context()
	s.jobs.mended.Store(true)
	page := must(s.client.List(ctx, queue.ListQuery{Queue: "bulk", State: cyclone.StepExhausted}))(s)
	if len(page.Steps) != few {
		s.Fatalf("%d discarded steps", len(page.Steps))
	}
	if err := s.client.RetryAll(ctx, page.Steps[0].RunID, cyclone.RetryReason("mended")); err != nil {
		s.Error(err)
	}
	s.cli("retry", page.Steps[1].RunID.String(), "--all")
	p := must(s.client.RetryMatching(ctx, queue.Filter{Kind: "broken", ErrorContains: "planned"}, nil))(s)
	if p.Done != few-2 {
		s.Errorf("%+v, want %d done", p, few-2)
	}
	s.drained("bulk")
	for i := range few {
		if n := s.jobs.times("broken" + strconv.Itoa(i)); n != 1 {
			s.Errorf("job broken%d was done %d times", i, n)
		}
	}
}

// waiting moves, starts, cancels and deletes steps that wait for their time.
func (s *site) waiting() {
	s.Helper()
	ctx := s.Context()
	var runs []cyclone.RunID
	for i := range 4 * few {
		run := must(cyclone.EnqueueAction(ctx, s.client, plain, fmt.Sprintf("waits%d", i), cyclone.WithDelay(time.Hour)))(s)
		runs = append(runs, run.ID())
	}
	for i, id := range runs {
		var err error
		switch i % 4 {
		case 0:
			err = s.client.RunNow(ctx, id)
		case 1:
			err = s.client.Reschedule(ctx, id, time.Now().Add(100*time.Millisecond))
		case 2:
			err = s.client.Cancel(ctx, id)
		case 3:
			err = s.client.Delete(ctx, id)
		}
		if err != nil {
			s.Errorf("run %v: %v", id, err)
		}
	}
	s.drained("default")
	for i := range runs {
		want := 1 - i%4/2
		if n := s.jobs.times(fmt.Sprintf("waits%d", i)); n != want {
			s.Errorf("job waits%d was done %d times, want %d", i, n, want)
		}
	}
}

// commands are what an operator looks at first.
func (s *site) commands() {
	s.Helper()
	s.cli("doctor")
	if q := cliJSON[struct{ Paused bool }](s, "queues", "scrap"); !q.Paused {
		s.Error("the command line does not see that a queue is paused")
	}
	s.cli("resume", "scrap")
	id := strings.TrimSpace(s.cli("enqueue", "plain", "--json", `"by hand"`, "--in", "1h"))
	id = id[strings.LastIndexByte(id, ' ')+1:]
	s.cli("steps", "show", id)
	s.cli("purge", "default", "--yes")
	if n := s.counts("default"); n[cyclone.StepScheduled] != 0 {
		s.Errorf("after the purge: %v", n)
	}
}
