package queue

import (
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// A node that runs whatever becomes of its dependencies waits for one that is opened
// again, even when another one ends before the sweep has looked at the run.
func TestReopenedDependencyIsWaitedFor(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a", "b", "c!: a b"))
		claims := l.claimNodes()
		l.advance(Discard(claims["a"], l.failure(claims["a"], "boom")))
		l.wantNodes(id, cyclone.RunRunning, "a discarded", "b running", "c blocked")

		p := l.client.space.Load().of(int64(id))
		v, err := p.loadRun(l.ctx, id)
		l.ok(err)
		todo, err := v.toReopen(l.ctx, []int{0}, nil, nil)
		l.ok(err)
		l.ok(l.client.reopenSome(l.ctx, v, todo, &wire.Reopen{}, make(map[int]error)))
		if _, err := l.store.Advance(l.ctx, p.number, []Settlement{l.done(claims["b"], "B")}); err != nil {
			l.Fatal(err)
		}
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b completed", "c blocked")
		l.sweep()
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b completed", "c blocked")
		l.drainRuns()
		l.wantNodes(id, cyclone.RunCompleted, "a completed", "b completed", "c completed")
		l.wantAudit()
	})
}

// A node that ended while it was opened again, in the same call, does not start twice.
func TestReopenMeetsACompletion(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a", "b", "c!: a b"))
		claims := l.claimNodes()
		l.advance(Discard(claims["a"], l.failure(claims["a"], "boom")))
		p := l.client.space.Load().of(int64(id))
		v, err := p.loadRun(l.ctx, id)
		l.ok(err)
		todo, err := v.toReopen(l.ctx, []int{0}, nil, nil)
		l.ok(err)
		l.advance(l.done(claims["b"], "B")) // releases c
		outcome := make(map[int]error)
		l.ok(l.client.reopenSome(l.ctx, v, todo, &wire.Reopen{}, outcome))
		if len(outcome) != 0 {
			l.Errorf("opened in view of what was no longer so: %v", outcome)
		}
		l.ok(l.client.Retry(l.ctx, id, "a"))
		l.wantNodes(id, cyclone.RunRunning, "a ready", "b completed", "c ready")
		l.drainRuns()
		l.wantNodes(id, cyclone.RunCompleted, "a completed", "b completed", "c completed")
		l.wantAudit()
	})
}
