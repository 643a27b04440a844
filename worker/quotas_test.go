package worker

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// idle returns a worker that serves the queues and runs nothing.
func idle(t *testing.T, cfg Config) *Worker {
	t.Helper()
	cfg, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &Worker{cfg: cfg, free: cfg.Concurrency, inQueue: map[string]int{}}
}

// asked returns the claims of a turn for n steps as "queue:n" for each queue's
// first lane.
func asked(w *Worker, n int) []string {
	w.turns = 1 // not one of those that begin with low
	var list []string
	for _, q := range w.quotas(w.cfg.Queues, w.rooms(w.cfg.Queues, n), n) {
		if q.Priority == cyclone.High {
			list = append(list, fmt.Sprintf("%s:%d", q.Queue, q.N))
		}
	}
	return list
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg     Config
		running map[string]int
		n       int
		want    []string
	}{
		"one queue":               {cfg: Config{}, n: 10, want: []string{"default:10"}},
		"shares, then leftovers":  {cfg: Config{Queues: []Queue{{Name: "a", Weight: 3}, {Name: "b"}}}, n: 8, want: []string{"a:6", "b:2", "a:8", "b:8"}},
		"shares are rounded up":   {cfg: Config{Queues: []Queue{{Name: "a", Weight: 3}, {Name: "b"}}}, n: 1, want: []string{"a:1", "b:1", "a:1", "b:1"}},
		"strict has no shares":    {cfg: Config{Queues: Queues("a", "b"), Strict: true}, n: 8, want: []string{"a:8", "b:8"}},
		"a cap":                   {cfg: Config{Queues: []Queue{{Name: "a", Max: 5}}}, running: map[string]int{"a": 3}, n: 10, want: []string{"a:2"}},
		"a cap that is reached":   {cfg: Config{Queues: []Queue{{Name: "a", Max: 3}, {Name: "b"}}}, running: map[string]int{"a": 3}, n: 4, want: []string{"b:2", "b:4"}},
		"a cap that is overdrawn": {cfg: Config{Queues: []Queue{{Name: "a", Max: 3}}}, running: map[string]int{"a": 4}, n: 4, want: nil},
		"no slot":                 {cfg: Config{}, n: 0, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := idle(t, c.cfg)
			if c.running != nil {
				w.inQueue = c.running
			}
			if diff := cmp.Diff(c.want, asked(w, c.n)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Every sixteenth turn begins with low.
func TestQuotasReverseNowAndThen(t *testing.T) {
	t.Parallel()
	w := idle(t, Config{})
	reversed := 0
	for w.turns = range uint64(160) {
		list := w.quotas(w.cfg.Queues, w.rooms(w.cfg.Queues, 1), 1)
		if len(list) != 3 || list[1].Priority != cyclone.Default {
			t.Fatalf("asked for %v", list)
		}
		if list[0].Priority == cyclone.Low {
			reversed++
		}
	}
	if reversed != 10 {
		t.Errorf("%d of 160 turns begin with low, want 10", reversed)
	}
}

// Of more queues than fit a turn, each gets its turn.
func TestTurnQueuesGoRound(t *testing.T) {
	t.Parallel()
	var cfg Config
	for i := range 41 {
		cfg.Queues = append(cfg.Queues, Queue{Name: fmt.Sprint("q", i)})
	}
	w := idle(t, cfg)
	p := &partition{worker: w}
	seen := map[string]int{}
	for range 41 {
		picked := w.turnQueues(p)
		if len(picked) != maxQueuesPerTurn {
			t.Fatalf("a turn has %d queues, want %d", len(picked), maxQueuesPerTurn)
		}
		for _, q := range picked {
			seen[q.Name]++
		}
	}
	for name, n := range seen {
		if n != maxQueuesPerTurn || len(seen) != 41 {
			t.Errorf("%s was served in %d turns of 41, want %d", name, n, maxQueuesPerTurn)
		}
	}
}

// Even a single slot is shared by the weights: the queue that is asked first is
// chosen by them.
func TestTurnQueuesAreShuffledByWeight(t *testing.T) {
	t.Parallel()
	w := idle(t, Config{Queues: []Queue{{Name: "a", Weight: 6}, {Name: "b", Weight: 3}, {Name: "c", Weight: 1}}})
	first := map[string]int{}
	const turns = 10_000
	for range turns {
		first[w.turnQueues(&partition{worker: w})[0].Name]++
	}
	for name, want := range map[string]int{"a": 6000, "b": 3000, "c": 1000} {
		if n := first[name]; n < want*8/10 || n > want*12/10 {
			t.Errorf("%s came first in %d of %d turns, want about %d", name, n, turns, want)
		}
	}
	strict := idle(t, Config{Queues: Queues("a", "b", "c"), Strict: true})
	for range 20 {
		if order := strict.turnQueues(&partition{worker: strict}); order[0].Name != "a" || order[2].Name != "c" {
			t.Fatalf("in strict order the queues are asked as %v", order)
		}
	}
}

// What a turn takes along is what was there, and memory is used again.
func TestSettlementsOfAPartition(t *testing.T) {
	t.Parallel()
	p := &partition{}
	claims := make([]queue.Claimed, 5)
	for i := range claims {
		claims[i].ID = cyclone.RunID(i)
		p.settle = append(p.settle, queue.GiveBack(&claims[i]))
	}
	first, second := p.takeSettlements(3), p.takeSettlements(3)
	var ids []cyclone.RunID
	for _, s := range append(append([]queue.Settlement(nil), first...), second...) {
		ids = append(ids, s.Claim.ID)
	}
	if diff := cmp.Diff([]cyclone.RunID{0, 1, 2, 3, 4}, ids); diff != "" || len(p.settle) != 0 {
		t.Errorf("%d are left; (-want +taken)\n%s", len(p.settle), diff)
	}
	p.recycle(second)
	p.settle = append(p.settle, queue.GiveBack(&claims[0]))
	if got := p.takeSettlements(3); len(got) != 1 || got[0].Claim.ID != 0 {
		t.Errorf("after recycling %d are taken", len(got))
	}
}

func TestAttemptListKeepsOrder(t *testing.T) {
	t.Parallel()
	var l attemptList
	all := make([]*attempt, 4)
	for i := range all {
		all[i] = &attempt{ordinal: i}
		l.add(all[i])
	}
	for _, step := range []struct {
		remove int
		want   []int
	}{{1, []int{0, 2, 3}}, {0, []int{2, 3}}, {3, []int{2}}, {2, nil}} {
		l.remove(all[step.remove])
		var got []int
		for a := l.first; a != nil; a = a.next {
			got = append(got, a.ordinal)
		}
		if diff := cmp.Diff(step.want, got); diff != "" || l.n != len(step.want) {
			t.Errorf("without %d the list has %d: (-want +got)\n%s", step.remove, l.n, diff)
		}
	}
}
