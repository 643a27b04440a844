package queue

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

// maintain calls Maintain until everything has had its turn.
func (l *lab) maintain() {
	l.Helper()
	for range 2 * tidyEvery {
		l.ok(l.store.Maintain(l.ctx, []string{"default"}, claimLease))
	}
}

// TestFinishedStepsGoWhenTheirTimeIsOver with all that is kept of them.
func TestFinishedStepsGoWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{Partitions: 2, DiscardedRetention: 3 * time.Hour, CancelledRetention: 2 * time.Hour}, func(l *lab) {
		completed, discarded, cancelled := l.enqueue("a"), l.enqueue("b"), l.enqueue("c")
		claims := l.claim()
		l.complete(claims[completed], "x", time.Hour)
		l.settle(Discard(claims[discarded], l.failure(claims[discarded], "no")))
		l.ok(l.client.Retry(l.ctx, discarded, "mail"))
		l.discard(discarded)
		l.settle(Release(claims[cancelled]))
		l.ok(l.client.Cancel(l.ctx, cancelled))
		for _, left := range [][]cyclone.RunID{{completed, discarded, cancelled}, {discarded, cancelled}, {discarded}, nil} {
			l.maintain()
			slices.Sort(left)
			got := l.pages(ListQuery{})
			slices.Sort(got)
			if diff := cmp.Diff(left, got); diff != "" {
				l.Errorf("(-want +got):\n%s", diff)
			}
			time.Sleep(time.Hour + time.Second)
		}
		l.claim() // disposes of the ghost
		l.wantFixedKeysOnly()
	})
}

// TestFinishedStepsGoWhenTheyAreTooMany, oldest first, and in more than one script.
func TestFinishedStepsGoWhenTheyAreTooMany(t *testing.T) {
	everywhere(t, func(l *lab) {
		if len(l.client.space.Load().parts) > 1 {
			return // the bound is one of each partition
		}
		l.client.cfg.DiscardedMax = 10
		l.crowd(2*maintainBatch + 50)
		l.discardAll()
		l.passMillisecond() // which of one millisecond is older nobody can tell
		last := l.enqueue("last")
		l.discard(last)
		l.maintain()
		l.wantCounts(map[cyclone.StepState]int64{cyclone.StepExhausted: 10})
		l.wantState(last, cyclone.StepExhausted)
	})
}

// TestLeasesAreClamped after the clock was set back, but not below the longest lease
// that any worker takes.
func TestLeasesAreClamped(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		c := l.claim()[id]
		p := l.part(id)
		key := p.keys.queue("default").leased
		end := func() time.Duration {
			l.Helper()
			score, err := l.server.Client.ZScore(l.ctx, key, c.member).Result()
			l.ok(err)
			return time.Until(timeOf(int64(score) / scoreUnit))
		}
		l.ok(l.server.Client.ZIncrBy(l.ctx, key, float64(time.Hour.Milliseconds()*scoreUnit), c.member).Err())
		info, err := json.Marshal(WorkerInfo{Host: "far", Lease: 10 * time.Minute})
		l.ok(err)
		if _, err := NewStore(l.client, "w2").Extend(l.ctx, nil, claimLease, info); err != nil {
			l.Fatal(err)
		}
		l.maintain()
		if d := end(); d < 9*time.Minute || d > 11*time.Minute {
			l.Errorf("beside a worker with leases of ten minutes the lease ends in %v", d)
		}
		l.ok(NewStore(l.client, "w2").Leave(l.ctx, nil))
		l.maintain()
		if d := end(); d > claimLease+time.Second {
			l.Errorf("the lease ends in %v", d)
		}
		if score, _ := l.server.Client.ZScore(l.ctx, key, c.member).Result(); int64(score)%scoreUnit != int64(cyclone.Default)*2 {
			l.Errorf("lane and start are %d", int64(score)%scoreUnit)
		}
	})
}

// TestOldThingsAreForgotten: lanes, unique keys with a time, counters and workers.
func TestOldThingsAreForgotten(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{}, func(l *lab) {
		l.maintain()
		info, err := json.Marshal(WorkerInfo{Host: "here", PID: 7, Queues: []string{"default"}})
		l.ok(err)
		if _, err := l.store.Extend(l.ctx, nil, claimLease, info); err != nil {
			l.Fatal(err)
		}
		workers, err := l.client.Workers(l.ctx)
		l.ok(err)
		if len(workers) != 1 || workers[0].ID != "w1" || workers[0].PID != 7 || !workers[0].LastSeen.Equal(time.Now()) {
			l.Errorf("%+v", workers)
		}
		id := l.enqueue("a", cyclone.WithUnique(cyclone.Unique{Scope: cyclone.For(time.Hour)}))
		l.complete(l.claim()[id], "x", 0)
		p := l.part(id)
		if n := l.server.Client.HLen(l.ctx, p.keys.uniq()).Val(); n != 1 {
			l.Errorf("%d unique keys", n)
		}
		lanes := l.server.Client.HLen(l.ctx, p.keys.sess()).Val()
		time.Sleep(sessionLife + time.Hour)
		l.store.rounds.Store(0)
		for range 40 * tidyEvery {
			l.ok(l.store.Maintain(l.ctx, []string{"default"}, claimLease))
		}
		if workers, err = l.client.Workers(l.ctx); err != nil || len(workers) != 0 {
			l.Errorf("%+v, %v", workers, err)
		}
		if n := l.server.Client.HLen(l.ctx, p.keys.sess()).Val(); n >= lanes {
			l.Errorf("%d lanes of %d", n, lanes)
		}
		for _, key := range []string{p.keys.uniq(), p.keys.uniqof(), p.keys.uniqx(), p.keys.sessx()} {
			if n := l.server.Client.Exists(l.ctx, key).Val(); n != 0 {
				l.Errorf("left over: %s", key)
			}
		}
		for field := range l.server.Client.HGetAll(l.ctx, p.keys.stats()).Val() {
			if field[:5] != "total" {
				l.Errorf("left over in stats: %s", field)
			}
		}
		l.enqueue("b") // on a lane that the server has forgotten
	})
}

func TestStatsCountMinuteByMinute(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{Partitions: 2}, func(l *lab) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		first := time.Now()
		l.enqueue("a")
		l.enqueue("b")
		time.Sleep(time.Minute)
		for _, c := range l.claim() {
			l.complete(c, "x", 0)
		}
		got, err := l.client.Stats(l.ctx, 3)
		l.ok(err)
		type counts = map[cyclone.EventType]int64
		want := Stats{
			Totals: counts{cyclone.EventEnqueued: 2, cyclone.EventCompleted: 2},
			Minutes: []MinuteStats{
				{Start: first.Add(-time.Minute), Counts: counts{}},
				{Start: first, Counts: counts{cyclone.EventEnqueued: 2}},
				{Start: first.Add(time.Minute), Counts: counts{cyclone.EventCompleted: 2}},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
		for asked, want := range map[int]int{-1: 0, 0: 0, 1000: StatsMinutes} {
			if got, err := l.client.Stats(l.ctx, asked); err != nil || len(got.Minutes) != want {
				l.Errorf("%d minutes: %d, %v", asked, len(got.Minutes), err)
			}
		}
	})
}

// TestQueuesAreKnownFromTheirFirstStepOn, by all clients, and their age is shown.
func TestQueuesAreKnownFromTheirFirstStepOn(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{Partitions: 4}, func(l *lab) {
		if queues, err := l.client.Queues(l.ctx); err != nil || len(queues) != 0 {
			l.Errorf("%+v, %v", queues, err)
		}
		gone := l.enqueue("a", cyclone.WithQueue("mail"), cyclone.WithUnique(cyclone.Unique{}))
		time.Sleep(time.Minute)
		l.enqueue("b", cyclone.WithQueue("mail"), cyclone.WithUnique(cyclone.Unique{}))
		l.enqueue("c", cyclone.WithQueue("archive"), cyclone.WithDelay(time.Hour))
		time.Sleep(time.Minute)
		l.ok(l.client.Cancel(l.ctx, gone))
		l.ok(l.client.Pause(l.ctx, "empty"))
		got, err := l.client.Queues(l.ctx)
		l.ok(err)
		type counts = map[cyclone.StepState]int64
		want := []QueueInfo{
			{Name: "archive", Counts: counts{cyclone.StepScheduled: 1}},
			{Name: "empty", Paused: true, Counts: counts{}},
			{Name: "mail", Counts: counts{cyclone.StepReady: 1, cyclone.StepCancelled: 1}, OldestReady: time.Minute},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestMaintainEndsWithItsContext(t *testing.T) {
	everywhere(t, func(l *lab) {
		ctx, stop := context.WithCancel(l.ctx)
		stop()
		if err := l.store.Maintain(ctx, nil, claimLease); err == nil {
			l.Error("no error")
		}
	})
}
