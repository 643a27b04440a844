package conformance_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// latency enqueues n steps one by one and returns the median and the longest time
// to their handlers.
func latency(l *lab.Lab, action *cyclone.Action[time.Time], seen <-chan time.Duration, n int) (median, longest time.Duration) {
	l.Helper()
	var all []time.Duration
	for range n {
		lab.Enqueue(l, action, time.Now())
		all = append(all, <-seen)
	}
	slices.Sort(all)
	return all[n/2], all[n-1]
}

// An idle worker is woken by an enqueue and never sleeps for its fallback.
func TestIdleWorkerIsWoken(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		seen := make(chan time.Duration, 1)
		action := cyclone.NewAction("job", func(_ cyclone.Context, sent time.Time) error {
			seen <- time.Since(sent)
			return nil
		})
		l.Start(worker.Config{Fallback: time.Hour}, action)
		l.Until("it stands in line", func() bool { return l.Has("waiters:default") })
		median, longest := latency(l, action, seen, 50)
		// The limits are for a machine that is busy with other tests; a lost wake-up takes an hour.
		if median > time.Second || longest > 5*time.Second {
			l.Errorf("median %v, longest %v from enqueue to handler", median, longest)
		}
	})
}

// A due time that becomes the earliest is heard of by workers that idle already.
func TestIdleWorkerHearsOfDueTimes(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 0)
		for range 3 {
			l.Start(worker.Config{Fallback: time.Hour}, action)
		}
		l.Pass(time.Second)
		began := time.Now()
		for _, d := range []time.Duration{30 * time.Second, 10 * time.Second, 20 * time.Second, 10*time.Second + time.Millisecond} {
			lab.Enqueue(l, action, "", cyclone.WithDelay(d))
		}
		l.Pass(time.Minute)
		var at []time.Duration
		for _, visit := range v.All() {
			at = append(at, visit.At.Sub(began).Round(20*time.Millisecond))
		}
		if want := []time.Duration{10 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second}; !slices.Equal(at, want) {
			l.Errorf("started at %v, want %v", at, want)
		}
	})
}

// An idle worker asks seldom.
func TestIdleWorkerIsCheap(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		w := l.Prepare(worker.Config{})
		var counter lab.Counter
		w.Redis.AddHook(&counter)
		w.Go()
		l.Pass(10 * time.Second)
		before := counter.Count()
		l.Pass(100 * time.Second)
		if n := counter.Count() - before; n > 200 || n < 50 {
			l.Errorf("%d commands in 100 s, want at most 2 a second", n)
		}
	})
}

// Work that a worker cannot take is passed on to one that can.
func TestWorkersShareTheWork(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const workers, slots = 4, 2
		var mu sync.Mutex
		by := map[string]int{}
		running := 0
		hold := make(chan struct{})
		var all []*lab.Running
		for range workers {
			w := l.Prepare(worker.Config{Concurrency: slots, Fallback: time.Hour})
			id := w.ID()
			w.Register(cyclone.NewAction("job", func(cyclone.Context, string) error {
				mu.Lock()
				by[id]++
				running++
				mu.Unlock()
				<-hold
				return nil
			}))
			w.Go()
			all = append(all, w)
		}
		load(l, cyclone.DeclareAction[string]("job"), workers*slots+5, "")
		l.Until("every slot of every worker runs a step", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return running == workers*slots && len(by) == workers
		})
		close(hold)
		l.UntilEmpty()
		if n := len(l.Leased()); n != 0 {
			l.Errorf("%d leases are left", n)
		}
		for _, w := range all {
			if h := w.Health(); h.Running != 0 {
				l.Errorf("worker %s runs %d steps", w.ID(), h.Running)
			}
		}
	})
}

// Workers of different queues wait in different lines: an enqueue wakes one that
// serves its queue.
func TestWakeUpsReachTheRightQueue(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		served := make(chan string, 10)
		for _, queues := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"c"}} {
			l.Start(worker.Config{Fallback: time.Hour, Queues: worker.Queues(queues...)},
				cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error { served <- ctx.Queue(); return nil }))
		}
		for _, name := range []string{"a", "b", "c"} {
			l.Until("somebody waits for "+name, func() bool { return l.Has("waiters:" + name) })
		}
		job := cyclone.DeclareAction[string]("job")
		for range 20 {
			for _, name := range []string{"a", "b", "c"} {
				lab.Enqueue(l, job, "", cyclone.WithQueue(name))
				select {
				case got := <-served:
					if got != name {
						l.Fatalf("a step of %s was served, want one of %s", got, name)
					}
				case <-time.After(5 * time.Second):
					l.Fatalf("nobody was woken for %s", name)
				}
			}
		}
	})
}
