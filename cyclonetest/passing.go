package cyclonetest

import (
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// awhile is how long a worker idles in virtual time. A longer wait goes by without
// one, at no cost.
const awhile = time.Minute

// atOnce is how far apart the times of steps may be that come together when a clock
// is set forward.
const atOnce = time.Second

// waiting returns the steps to run that wait for a time, the next one first, and those
// that only a signal can bring back.
func (d *drain) waiting(left remainder) (timed, endless []cyclone.StepInfo) {
	d.t.Helper()
	if left.waiting == 0 {
		return nil, nil
	}
	steps := list(d.ctx, d.t, d.client, cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting)
	for i := range steps {
		s := &steps[i]
		switch {
		case d.kinds != nil && !d.kinds[s.Kind]:
		case d.news.released(s) >= putBacks:
			d.t.Fatalf("cyclonetest: Drain: run %v is given back again and again: does the worker know %q?", s.RunID, s.Kind)
		case s.DueAt.IsZero():
			endless = append(endless, *s)
		default:
			timed = append(timed, *s)
		}
	}
	slices.SortStableFunc(timed, func(a, b cyclone.StepInfo) int { return a.DueAt.Compare(b.DueAt) })
	return timed, endless
}

// told is how many steps tell shows.
const told = 10

// tell logs what cannot go on by itself.
func (d *drain) tell(endless []cyclone.StepInfo) {
	d.t.Helper()
	for _, s := range endless[:min(len(endless), told)] {
		what := "a signal"
		if names, err := d.client.Awaited(d.ctx, s.RunID); err == nil && len(names[s.Node]) > 0 {
			what = strings.Join(names[s.Node], ", ")
		}
		d.t.Logf("cyclonetest: Drain: run %v: %s still waits for %s", s.RunID, s.Node, what)
	}
	if more := len(endless) - told; more > 0 {
		d.t.Logf("cyclonetest: Drain: %d more steps still wait for signals", more)
	}
}

// pass brings the time of waiting steps.
func (d *drain) pass(waiting []cyclone.StepInfo, queues []string) {
	d.t.Helper()
	switch server := d.server.Load(); {
	case d.bubble:
		d.passInBubble(waiting, queues)
	case server != nil:
		due, now := waiting[0].DueAt, server.now()
		for _, s := range waiting {
			if s.DueAt.Sub(waiting[0].DueAt) <= atOnce {
				due = s.DueAt
			}
		}
		server.setForward(max(due.Sub(now), 0))
		d.start(queues)
		d.await(queues)
	default:
		d.start(queues)
		d.sleep(time.Until(waiting[0].DueAt))
	}
}

func (d *drain) passInBubble(waiting []cyclone.StepInfo, queues []string) {
	d.t.Helper()
	now := time.Now()
	next, last := waiting[0].DueAt.Sub(now), waiting[len(waiting)-1].DueAt.Sub(now)
	if next > awhile {
		d.halt()
		if d.sleep(next) {
			d.start(queues)
		}
		return
	}
	d.start(queues)
	time.Sleep(max(min(last, max(next, 0)+awhile), time.Millisecond))
}

// sleep lets time pass, until a step has changed or somebody else uses the server:
// the test's other goroutines may signal, or enqueue. It tells whether all of the time
// has passed.
func (d *drain) sleep(left time.Duration) bool {
	var used chan struct{}
	if server := d.server.Load(); server != nil {
		used = server.used
	}
	select {
	case <-used:
	case <-d.news.any:
	case <-time.After(max(left, time.Millisecond)):
		return true
	}
	return false
}

// forget drops the word of what has happened so far: the drain is about to look.
func (d *drain) forget() {
	select {
	case <-d.news.any:
	default:
	}
	if server := d.server.Load(); server != nil {
		select {
		case <-server.used:
		default:
		}
	}
}
