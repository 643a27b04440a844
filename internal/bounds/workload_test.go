package bounds

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// workload is one thing that is measured.
type workload struct {
	name    string
	unit    string // what the figures are for each of
	about   string
	figures []figure
	rounds  int                                         // that are run in any case
	round   func(context.Context, *lab) (sample, error) // on an empty server
}

// figure is a metric of a workload that has a bound.
type figure struct {
	metric metric
	// headroom is what -update adds to what it measured: as much as the least of some
	// rounds differs from run to run and machine to machine, and nothing where it does not.
	headroom float64
}

// figure is the name of one in bounds.md.
func (w *workload) figure(f figure) string {
	return w.name + ": " + string(f.metric) + " per " + w.unit
}

var workloads = []workload{
	singleEnqueue, togetherEnqueued, bulkEnqueue, drained, chainEnqueued, chainDrained, taskDrained,
	queuedMemory, uniqueMemory, finishedMemory,
}

// processors are what a round may use on every machine: on many, callers run beside each
// other, and fewer of them share a call.
const processors = 2

const (
	someRounds = 5  // where timing decides how many jobs share a call
	twoRounds  = 2  // where it does not: the first one may differ, when the server is new
	mostRounds = 20 // while a figure is above its bound
)

// measure returns the least of each figure over the rounds, and how many these were. After
// those that are run in any case, enough ends them.
func (w *workload) measure(t *testing.T, enough func(sample) bool) (best sample, rounds int) {
	t.Helper()
	l := newLab(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for rounds < w.rounds || rounds < mostRounds && !enough(best) {
		if err := l.server.Client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		s, err := w.round(t.Context(), l)
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		best = least(best, s)
		rounds++
	}
	return best, rounds
}

// least joins two samples.
func least(a, b sample) sample {
	both := sample{}
	for _, s := range []sample{a, b} {
		for m, v := range s {
			if old, ok := both[m]; !ok || v < old {
				both[m] = v
			}
		}
	}
	return both
}

// judged are the workload's figures that can be measured in this binary.
func (w *workload) judged() []figure {
	return slices.DeleteFunc(slices.Clone(w.figures), func(f figure) bool { return raceDetector && f.metric == allocations })
}
