package bounds

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tableFile has the bounds.
const tableFile = "bounds.md"

const tableHead = `# What a job may cost

Figures that do not depend on how fast the machine is, and their bounds. ` + "`go test -v -run TestBounds ./internal/bounds`" + `
measures them, prints them beside their bounds and fails when one is exceeded; ` + "`go test ./internal/bounds -update`" + `
writes this file from what it measures. A bound that rises needs a reason in the commit.

Payloads are 100 bytes. *Script calls* are what Redis was asked to run; *Redis commands* are those inside of scripts and
those that clients send beside them, without the opening of connections; *bytes sent* and *received* are the client's, on
the wire; *Go allocations* are those of the whole process, go-redis included; *bytes in Redis* are the growth of its memory.

| figure | at most | what is measured |
| --- | --- | --- |
`

// table has bounds by the name of their figure.
type table map[string]float64

func readTable(text string) (table, error) {
	out := table{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(line, "| figure |") || strings.HasPrefix(line, "| --- |") {
			continue
		}
		name := strings.TrimSpace(cells[0])
		bound, err := strconv.ParseFloat(strings.TrimSpace(cells[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: the bound of %q: %w", tableFile, name, err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s: %q stands there twice", tableFile, name)
		}
		out[name] = bound
	}
	return out, nil
}

// text is the file that has these bounds.
func (bounds table) text() string {
	var b strings.Builder
	b.WriteString(tableHead)
	for i := range workloads {
		w := &workloads[i]
		for _, f := range w.figures {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", w.figure(f), number(bounds[w.figure(f)]), w.about)
		}
	}
	return b.String()
}

// bound is what a measured value allows from now on.
func (f figure) bound(measured float64) float64 { return roundUp(measured*(1+f.headroom), 3) }

// roundUp rounds to so many significant digits, never down, so that a bound is short and
// not below what it was made of.
func roundUp(v float64, digits int) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow10(digits - 1 - int(math.Floor(math.Log10(v))))
	return math.Ceil(v*unit-1e-9) / unit
}

// number is a figure as the table has it.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
