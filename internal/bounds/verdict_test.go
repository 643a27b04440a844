package bounds

import "fmt"

// exceeded says which of the workload's figures are above their bounds or have none.
func (w *workload) exceeded(bounds table, measured sample) (complaints []string) {
	for _, f := range w.judged() {
		name := w.figure(f)
		bound, known := bounds[name]
		switch v := measured[f.metric]; {
		case !known:
			complaints = append(complaints, fmt.Sprintf("%s has no bound in internal/bounds/%s: write it by `go test ./internal/bounds -update`", name, tableFile))
		case v > bound+1e-9:
			complaints = append(complaints, fmt.Sprintf("%s: %.5g, and its bound is %s. %s", name, v, number(bound), advice))
		}
	}
	return complaints
}

// advice is what to do next.
const advice = "Find what made it cost more: beside the last commit within the bounds, look at MONITOR, at `go test -bench . -benchmem` " +
	"of the package and at `go run ./bench -cpuprofile`. Raise the bound, by `go test ./internal/bounds -update`, only for a reason that the commit gives."
