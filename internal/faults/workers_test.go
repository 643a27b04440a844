package faults_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// F-01: workers are killed in the middle of their steps.
func TestKilledWorkers(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		var kills atomic.Int64
		enough := func() bool { return kills.Load() >= 5 }
		p := experiment{acknowledged: 200, enough: enough, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 400*time.Millisecond, func() {
				victim := p.pick()
				p.fire(victim)
				victim.kill()
				kills.Add(1)
				p.hire()
			})
		}}.run(t, seed)
		if lost := p.total("lost"); !enough() || lost == 0 {
			t.Errorf("%d kills, %d lost leases: want enough of them", kills.Load(), lost)
		}
	})
}

// F-09: workers are replaced, one after the other, as by a deployment.
func TestReplacedWorkers(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := experiment{acknowledged: 200, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 400*time.Millisecond, func() {
				p.hire()
				old := p.pick()
				p.fire(old)
				if took := old.stop(); took > 3*time.Second {
					t.Errorf("a worker took %v to stop", took)
				}
			})
		}}.run(t, seed)
		if lost := p.total("lost"); lost != 0 {
			t.Errorf("%d leases were lost, want all given back", lost)
		}
		if again := p.again(); again != 0 {
			t.Errorf("%d executions came to nothing, want none", again)
		}
	})
}

// F-03: workers are frozen until their leases have ended, and go on as if nothing
// had been: zombies, whose results are refused.
func TestFrozenWorkers(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := experiment{acknowledged: 100, lasts: 7 * time.Second, takes: 300 * time.Millisecond, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 300*time.Millisecond, func() {
				zombie := p.pick()
				zombie.freeze()
				select {
				case <-time.After(p.lease * 5 / 4):
				case <-ctx.Done():
				}
				zombie.thaw()
			})
		}}.run(t, seed)
		refused := 0
		for _, c := range p.all() {
			refused += c.said("settlement refused")
		}
		if lost := p.total("lost"); lost == 0 || refused == 0 {
			t.Errorf("%d leases were lost and %d results refused: want some of both", lost, refused)
		}
	})
}
