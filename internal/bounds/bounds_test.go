package bounds

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

var update = flag.Bool("update", false, "write bounds.md from what is measured")

// TestBounds holds what a job costs to the bounds in bounds.md. It is not parallel: what
// else this process does would count.
func TestBounds(t *testing.T) {
	if testing.Short() && raceDetector {
		t.Skip("costs the same as without the race detector, and takes long")
	}
	if *update {
		updateBounds(t)
		return
	}
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := readTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	out := tabwriter.NewWriter(&report, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "measured\tbound\tof it\trounds\t\tfigure")
	for i := range workloads {
		w := &workloads[i]
		measured, rounds := w.measure(t, func(s sample) bool { return len(w.exceeded(bounds, s)) == 0 })
		for _, f := range w.judged() {
			v, bound := measured[f.metric], bounds[w.figure(f)]
			fmt.Fprintf(out, "%.4g\t%s\t%.0f %%\t%d\t\t%s\n", v, number(bound), 100*v/bound, rounds, w.figure(f))
		}
		for _, complaint := range w.exceeded(bounds, measured) {
			t.Error(complaint)
		}
	}
	_ = out.Flush() // to memory
	t.Logf("what a job costs, each the least of several rounds:\n%s", &report)
}

// updateBounds makes what is measured the bounds.
func updateBounds(t *testing.T) {
	if raceDetector {
		t.Fatal("allocations cannot be measured under the race detector")
	}
	bounds := table{}
	for i := range workloads {
		w := &workloads[i]
		measured, _ := w.measure(t, func(sample) bool { return true })
		for _, f := range w.figures {
			bounds[w.figure(f)] = f.bound(measured[f.metric])
		}
	}
	if err := os.WriteFile(tableFile, []byte(bounds.text()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is written: see its diff", tableFile)
}
