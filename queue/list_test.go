package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

// pages lists everything that a query gives, page by page, and checks their size.
func (l *lab) pages(q ListQuery) (ids []cyclone.RunID) {
	l.Helper()
	for {
		page, err := l.client.List(l.ctx, q)
		l.ok(err)
		if q.Limit > 0 && len(page.Steps) > q.Limit {
			l.Errorf("%d steps on a page of %d", len(page.Steps), q.Limit)
		}
		for _, s := range page.Steps {
			if q.State != "" && s.State != q.State {
				l.Errorf("run %v is %s, asked for %s", s.RunID, s.State, q.State)
			}
			ids = append(ids, s.RunID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
	}
}

func (l *lab) wantList(q ListQuery, want ...cyclone.RunID) {
	l.Helper()
	for _, limit := range []int{0, 1, 2, 3} {
		q.Limit = limit
		got := l.pages(q)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			l.Errorf("%s %s, limit %d (-want +got):\n%s", q.Queue, q.State, limit, diff)
		}
	}
}

// TestListShowsEveryState with ghosts and the padding left out.
func TestListShowsEveryState(t *testing.T) {
	everywhere(t, func(l *lab) {
		byState := map[cyclone.StepState][]cyclone.RunID{}
		add := func(s cyclone.StepState, id cyclone.RunID) { byState[s] = append(byState[s], id) }
		for i := range 3 {
			at := func(name string) string { return fmt.Sprint(name, i) }
			a, b, c, d, e, f, g := l.enqueue(at("a")), l.enqueue(at("b")), l.enqueue(at("c")), l.enqueue(at("d")), l.enqueue(at("e")), l.enqueue(at("f")), l.enqueue(at("g"))
			claims := l.claim()
			l.complete(claims[a], "x", time.Hour)
			l.settle(Discard(claims[b], l.failure(claims[b], "no")), Retry(claims[c], l.failure(claims[c], "later"), time.Hour), Snooze(claims[d], 1, "w1", time.Hour, time.Now()))
			l.ok(l.client.Cancel(l.ctx, f))
			l.ok(l.client.Cancel(l.ctx, g))
			l.ok(l.client.Retry(l.ctx, g, "mail")) // ready, though its lease is still there
			add(cyclone.StepCompleted, a)
			add(cyclone.StepExhausted, b)
			add(cyclone.StepRetrying, c)
			add(cyclone.StepSnoozed, d)
			add(cyclone.StepRunning, e)
			add(cyclone.StepCancelled, f)
			add(cyclone.StepReady, g)
			add(cyclone.StepScheduled, l.enqueue(at("h"), cyclone.WithDelay(time.Hour)))
		}
		for i, p := range []cyclone.Priority{cyclone.High, cyclone.Default, cyclone.Low} {
			add(cyclone.StepReady, l.enqueue(fmt.Sprint("i", i), cyclone.WithPriority(p)))
			gone := l.enqueue(fmt.Sprint("j", i), cyclone.WithPriority(p))
			l.ok(l.client.Cancel(l.ctx, gone))
			add(cyclone.StepCancelled, gone)
		}
		var all []cyclone.RunID
		for state, ids := range byState {
			l.wantList(ListQuery{Queue: "default", State: state}, ids...)
			for _, id := range ids {
				l.wantState(id, state)
			}
			all = append(all, ids...)
		}
		other := l.enqueue("k", cyclone.WithQueue("other"))
		l.wantList(ListQuery{Queue: "default"}, all...)
		l.wantList(ListQuery{Queue: "other"}, other)
		l.wantList(ListQuery{}, append(all, other)...)
		l.wantList(ListQuery{Queue: "unknown"})
		l.wantList(ListQuery{State: cyclone.StepBlocked})
		l.counts("default", byState)
	})
}

// counts compares the counts of a queue with what is in it.
func (l *lab) counts(queue string, byState map[cyclone.StepState][]cyclone.RunID) {
	l.Helper()
	want := make(map[cyclone.StepState]int64)
	for state, ids := range byState {
		want[state] = int64(len(ids))
	}
	queues, err := l.client.Queues(l.ctx)
	l.ok(err)
	for _, q := range queues {
		if q.Name == queue {
			if diff := cmp.Diff(want, q.Counts); diff != "" {
				l.Errorf("counts (-want +got):\n%s", diff)
			}
			return
		}
	}
	l.Errorf("queue %s is missing", queue)
}

// TestPagesNeitherSkipNorRepeat while entries before, at and behind the cursor go,
// even when all have the same score.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	everywhere(t, func(l *lab) {
		at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		var requests []cyclone.Request
		for i := range 40 {
			requests = append(requests, mail.With(fmt.Sprint(i), cyclone.WithStartAt(at)))
		}
		receipts, err := l.client.Enqueue(l.ctx, requests...)
		l.ok(err)
		seen := make(map[cyclone.RunID]int)
		gone := make(map[cyclone.RunID]bool)
		q := ListQuery{State: cyclone.StepScheduled, Limit: 3}
		for {
			page, err := l.client.List(l.ctx, q)
			l.ok(err)
			for _, s := range page.Steps {
				seen[s.RunID]++
			}
			// The last one seen, on which the cursor stands, and one not seen yet.
			if n := len(page.Steps); n > 0 {
				l.ok(l.client.Delete(l.ctx, page.Steps[n-1].RunID))
			}
			for _, r := range receipts {
				if seen[r.ID] == 0 && !gone[r.ID] {
					l.ok(l.client.Delete(l.ctx, r.ID))
					gone[r.ID] = true
					break
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		for _, r := range receipts {
			if n := seen[r.ID]; n != 1 && !gone[r.ID] || n > 1 {
				l.Errorf("run %v was seen %d times", r.ID, n)
			}
		}
	})
}

func TestNewestOfFinishedComesFirst(t *testing.T) {
	everywhere(t, func(l *lab) {
		var ids []cyclone.RunID
		for range 3 {
			id := l.enqueue("x")
			l.discard(id)
			p := l.part(id)
			l.ok(l.server.Client.ZIncrBy(l.ctx, p.keys.queue("default").discarded, float64(len(ids)*1000), id.String()).Err())
			ids = append([]cyclone.RunID{id}, ids...)
		}
		got := l.pages(ListQuery{State: cyclone.StepExhausted, Limit: 2})
		// The order holds within a partition.
		slices.SortStableFunc(ids, func(a, b cyclone.RunID) int { return l.part(a).number - l.part(b).number })
		if diff := cmp.Diff(ids, got); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestListRefuses(t *testing.T) {
	everywhere(t, func(l *lab) {
		for _, q := range []ListQuery{
			{Queue: "a:b"}, {State: "lost"}, {Cursor: "x"}, {Cursor: "e30"}, {Cursor: "eyJBdCI6eyJPZmZzZXQiOi0xfX0"},
		} {
			if page, err := l.client.List(l.ctx, q); err == nil {
				l.Errorf("%+v: %+v", q, page)
			}
		}
	})
}
