package conformance_test

import (
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// skew sets Redis' clock off the one of clients and workers.
func skew(l *lab.Lab, by time.Duration) {
	l.Embedded.SetClock(func() time.Time { return time.Now().Add(by) })
}

// Redis' clock decides; it does not matter how wrong those of workers and clients
// are.
func TestClocksOfWorkersDoNotMatter(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			lab.Bubble(t, func(l *lab.Lab) {
				skew(l, by)
				v := l.Visits()
				action := cyclone.NewAction("job", func(ctx cyclone.Context, takes time.Duration) error {
					v.Add(ctx)
					time.Sleep(takes)
					return ctx.Err()
				})
				l.Start(worker.Config{}, action)
				began := time.Now()
				long := lab.Enqueue(l, action, 2*time.Minute)
				later := lab.Enqueue(l, action, 0, cyclone.WithDelay(10*time.Second))
				fixed := lab.Enqueue(l, action, 0, cyclone.WithStartAt(began.Add(by).Add(20*time.Second)))
				brief := lab.Enqueue(l, action, 0, cyclone.WithDelay(30*time.Second), cyclone.WithExpiry(time.Minute))
				l.Pass(3 * time.Minute)
				want := map[cyclone.RunID]time.Duration{long: 0, later: 10 * time.Second, fixed: 20 * time.Second, brief: 30 * time.Second}
				for _, visit := range v.All() {
					if late := visit.At.Sub(began) - want[visit.RunID]; late < 0 || late > 100*time.Millisecond {
						l.Errorf("run %v started %v after its time", visit.RunID, late)
					}
				}
				if n := len(v.All()); n != 4 || l.Count() != 0 {
					l.Errorf("%d executions and %d steps left, want 4 and none", n, l.Count())
				}
			})
		})
	}
}

// When Redis' clock jumps ahead all leases end: each running step is run once
// more, and only one result counts.
func TestClockJumpsAhead(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			time.Sleep(20 * time.Second)
			return nil
		})
		for range 2 {
			l.Start(worker.Config{}, action)
		}
		for range 10 {
			lab.Enqueue(l, action, "")
		}
		l.Pass(5 * time.Second)
		skew(l, time.Hour)
		l.Pass(2 * time.Minute)
		if n := len(v.All()); n < 10 || n > 20 || l.Count() != 0 {
			l.Errorf("%d executions and %d steps left, want at most 20 and none", n, l.Count())
		}
		stats, err := l.Client().Stats(l.Context(), 1)
		if err != nil || stats.Totals[cyclone.EventCompleted] != 10 {
			l.Errorf("totals %v (%v), want 10 completed", stats.Totals, err)
		}
	})
}

// When Redis' clock jumps back nothing runs early or twice, and a lease of a dead
// worker freezes its step for no longer than a lease.
func TestClockJumpsBack(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, in string) error {
			if v.Add(ctx) == 1 && in == "dies" {
				return untilEnd(ctx)
			}
			time.Sleep(10 * time.Second)
			return nil
		})
		dead := l.Start(worker.Config{}, action)
		lost := lab.Enqueue(l, action, "dies")
		l.Pass(time.Second)
		dead.Pull()
		l.Start(worker.Config{}, action)
		alive := lab.Enqueue(l, action, "lives")
		later := lab.Enqueue(l, action, "", cyclone.WithDelay(time.Minute))
		l.Pass(time.Second)
		skew(l, -time.Hour)
		jumped := time.Now()
		l.Pass(3 * time.Minute)
		for _, visit := range v.All() {
			if visit.RunID == later {
				l.Error("a step started an hour before its time")
			}
		}
		all := v.All()
		if again := all[len(all)-1]; len(all) != 3 || again.RunID != lost || again.At.Sub(jumped) > 100*time.Second {
			l.Errorf("executions %v, want the dead worker's step once more, and soon", all)
		}
		if l.Step(alive) != nil || l.Step(lost) != nil {
			l.Error("what runs is not completed")
		}
		skew(l, 0)
		l.Pass(2 * time.Minute)
		if l.Count() != 0 || len(v.All()) != 4 {
			l.Errorf("%d executions and %d steps left, want 4 and none", len(v.All()), l.Count())
		}
	})
}
