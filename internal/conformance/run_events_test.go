package conformance_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// lines are all events in words, in an order of their own.
func (h *heard) lines() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, e := range h.all {
		all = append(all, fmt.Sprintf("%v %s %q %q %q %s", e.RunID, e.Type, e.Node, e.Kind, e.Queue, e.State))
	}
	slices.Sort(all)
	return all
}

// The process hears of what it does to runs of many steps as subscribers do: of nodes
// that a completion, a sweep or an operator lets start, of those that go with another's
// failure, of what is purged, and of the ends of runs.
func TestTheProcessHearsOfItsRuns(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		local := &heard{}
		lab.OnEvent(local.add)(l)
		remote := subscribe(l, queue.EventFilter{})
		more := cyclone.NewAction("more", func(cyclone.Context, string) error { return nil }, cyclone.WithRetention(time.Hour))
		var c *crew
		c = newCrew(map[string]func(cyclone.Context) error{
			"fails": failsForGood,
			"last": func(ctx cyclone.Context) error {
				b, tx := workflow.New("next"), ctx.CompletionTx()
				c.do(b, "then", workflow.After(c.do(b, "first")))
				return errors.Join(tx.Enqueue(more.With("")), b.EnqueueTx(tx))
			},
		})
		l.Start(worker.Config{Concurrency: 20}, c, more)

		wide := workflow.New("wide")
		root := c.do(wide, "root")
		all := make([]workflow.Dependency, dag.WideAbove+1)
		for i := range all {
			all[i] = c.do(wide, fmt.Sprint("leaf-", i), workflow.After(root))
		}
		c.do(wide, "last", workflow.After(all...))
		must(l, mustWait(l, lab.EnqueueRun(l, wide)))

		failing := workflow.New("failing")
		c.do(failing, "never", workflow.After(workflow.Wait(failing, "approval", time.Hour)))
		failed := c.do(failing, "fails")
		c.do(failing, "dropped", workflow.After(failed))
		id := lab.EnqueueRun(l, failing)
		_ = mustWait(l, id)
		c.instead("fails", nil)
		must(l, l.Client().Retry(l.Context(), id, "fails"))
		l.UntilNode(id, "approval", cyclone.StepWaiting)
		mustSignal(l, id, "approval", nil)
		must(l, mustWait(l, id))

		stopped := workflow.New("stopped")
		c.do(stopped, "later", cyclone.WithDelay(time.Hour), cyclone.WithQueue("other"))
		id = lab.EnqueueRun(l, stopped)
		_, err := l.Client().Purge(l.Context(), "other", nil)
		must(l, err)
		_ = mustWait(l, id)

		enough := func(h *heard) bool {
			return len(h.find(cyclone.EventFinished)) == 5 && len(h.find(cyclone.EventDeleted)) == 1 && len(h.find(cyclone.EventCompleted)) == 110
		}
		l.Until("all is heard", func() bool { return enough(local) && enough(remote) })
		if diff := cmp.Diff(remote.lines(), local.lines()); diff != "" {
			l.Errorf("-subscriber +process\n%s", diff)
		}
	})
}

// Events of one node come to the process in their order, however fast another slot is.
func TestTheProcessHearsOfNodesInOrder(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		local := &heard{}
		lab.OnEvent(local.add)(l)
		c := newCrew(nil)
		w := l.Start(worker.Config{Concurrency: 20}, c)
		var ids []cyclone.RunID
		for range 40 {
			b := workflow.New("diamonds")
			before := []workflow.Dependency{c.do(b, "root")}
			for i := range 4 {
				left, right := c.do(b, fmt.Sprint("left-", i), workflow.After(before...)), c.do(b, fmt.Sprint("right-", i), workflow.After(before...))
				before = []workflow.Dependency{left, right}
			}
			run, err := b.Enqueue(l.Context(), w.Client) // the same process
			must(l, err)
			ids = append(ids, run.ID())
		}
		for _, id := range ids {
			must(l, mustWait(l, id))
		}
		l.Until("all is heard", func() bool {
			return len(local.find(cyclone.EventCompleted)) == 40*9 && len(local.find(cyclone.EventFinished)) == 40
		})
		local.mu.Lock()
		defer local.mu.Unlock()
		lives := make(map[string][]cyclone.EventType)
		for _, e := range local.all {
			node := fmt.Sprint(e.RunID, " ", e.Node)
			lives[node] = append(lives[node], e.Type)
		}
		for node, life := range lives {
			if want := []cyclone.EventType{cyclone.EventEnqueued, cyclone.EventClaimed, cyclone.EventCompleted}; len(life) > 1 && !slices.Equal(life, want) {
				l.Errorf("%s: %v", node, life)
			}
		}
	})
}
