package queue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

// listRuns reads all pages of a list of runs and fails when a run comes twice.
func (l *lab) listRuns(q RunQuery) map[cyclone.RunID]RunSummary {
	l.Helper()
	all := make(map[cyclone.RunID]RunSummary)
	for pages := 0; ; pages++ {
		page, err := l.client.ListRuns(l.ctx, q)
		l.ok(err)
		if q.Limit > 0 && len(page.Runs) > q.Limit || pages > 1000 {
			l.Fatalf("%d runs on page %d with a limit of %d", len(page.Runs), pages, q.Limit)
		}
		for _, r := range page.Runs {
			if _, twice := all[r.ID]; twice {
				l.Errorf("run %v is listed twice", r.ID)
			}
			all[r.ID] = r
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

func TestListRuns(t *testing.T) {
	everywhere(t, func(l *lab) {
		want := make(map[cyclone.RunID]cyclone.RunState)
		start := func(lines ...string) cyclone.RunID {
			id := l.start(graphSpec(lines...))
			want[id] = cyclone.RunRunning
			return id
		}
		fan := make([]string, 0, 40)
		for i := range 40 {
			fan = append(fan, fmt.Sprintf("n%d", i))
		}
		for range 5 {
			start("a", "b: a")
		}
		wide := start(fan...)
		for i := range 500 { // more roots than a script starts: the sweep does
			fan = append(fan, fmt.Sprintf("m%d", i))
		}
		l.enqueue("alone")
		failed, stopped := start("x", "y"), start("a")
		for _, c := range l.turn("default", 200) {
			switch {
			case c.ID == failed && c.Envelope.Node == "x":
				l.advance(Discard(&c, l.failure(&c, "no")))
				want[failed] = cyclone.RunFailed
			case c.ID == wide && c.Envelope.Part.Index < 10, strings.HasPrefix(c.Envelope.Node, "a") && c.ID != stopped && c.ID%2 == 0:
				l.advance(l.done(&c, "out"))
			}
		}
		l.ok(l.client.Cancel(l.ctx, stopped))
		l.sweep()
		want[stopped] = cyclone.RunCancelled
		start(fan...)
		for _, limit := range []int{0, 1, 3} {
			got := l.listRuns(RunQuery{Limit: limit})
			states := make(map[cyclone.RunID]cyclone.RunState)
			for id, r := range got {
				states[id] = r.State
				if r.Name != "flow" || r.EnqueuedAt.IsZero() || r.FinishedAt.IsZero() == r.State.Finished() {
					l.Errorf("%+v", r)
				}
			}
			if diff := cmp.Diff(want, states); diff != "" {
				l.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
			if r := got[wide]; r.Steps != 40 || r.Left != 30 {
				l.Errorf("%+v", r)
			}
			for _, state := range []cyclone.RunState{cyclone.RunRunning, cyclone.RunFailed, cyclone.RunCancelled, cyclone.RunCompleted} {
				got := slices.Sorted(maps.Keys(l.listRuns(RunQuery{State: state, Limit: limit})))
				var own []cyclone.RunID
				for id, s := range want {
					if s == state {
						own = append(own, id)
					}
				}
				if slices.Sort(own); !slices.Equal(got, own) {
					l.Errorf("%s: %v, want %v", state, got, own)
				}
			}
		}
		if got := l.listRuns(RunQuery{Name: "other"}); len(got) != 0 {
			l.Errorf("%v", got)
		}
		for _, q := range []RunQuery{{State: "ready"}, {Name: "no name"}, {Cursor: "x"}, {Cursor: "eyJQYXJ0Ijo5OTk5fQ"}} {
			if _, err := l.client.ListRuns(l.ctx, q); err == nil {
				l.Errorf("%+v is accepted", q)
			}
		}
		if _, err := l.client.ListRuns(l.ctx, RunQuery{Cursor: "x"}); !errors.Is(err, errCursor) {
			l.Error(err)
		}
	})
}
