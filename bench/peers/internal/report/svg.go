package report

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/chart"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/run"
)

// WriteSVG writes a chart of every case, of the figure that counts, and of every
// curve into a folder, which it makes. Files are named after cases and curves.
func (r Report) WriteSVG(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var failures error
	for _, result := range r.Results {
		if result.Curve == "" && len(result.Figures) > 0 {
			failures = errors.Join(failures, write(folder, result.Case, r.bars(result)))
		}
	}
	numbers := map[string]int{}
	for _, curve := range Curves(r.Results) {
		numbers[curve.Name]++
		name := fmt.Sprintf("growth-%s-%d", curve.Name, numbers[curve.Name])
		failures = errors.Join(failures, write(folder, name, r.lines(curve)))
	}
	return failures
}

func write(folder, name, svg string) error {
	if svg == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, ".", "-")+".svg"), []byte(svg), 0o644)
}

// bars draws one case. It returns nothing for one that nobody could do.
func (r Report) bars(result run.Result) string {
	figure := result.Figures[0]
	var bars []chart.Bar
	for _, cell := range figure.Cells {
		if cell.Value == nil {
			continue
		}
		bar := chart.Bar{
			Label: cell.Contender, Value: cell.Value.Median, Low: cell.Value.Min, Up: cell.Value.Max,
			Highlight: cell.Contender == contender.Cyclone,
		}
		if guarantee := r.guarantee(cell.Contender); guarantee != ordinary {
			bar.Note = "(" + guarantee + ")"
		}
		bars = append(bars, bar)
	}
	if len(bars) == 0 {
		return ""
	}
	better := "more is better"
	if figure.Less {
		better = "less is better"
	}
	return chart.Bars(result.Title, fmt.Sprintf("%s; %s; %s, medians with smallest and largest", figure.Title, better, r.where()), bars)
}

// ordinary is the guarantee that needs no note.
const ordinary = "at least once"

func (r Report) lines(curve Curve) string {
	var lines []chart.Line
	for _, line := range curve.Lines {
		drawn := chart.Line{Label: line.Contender}
		for _, value := range line.Values {
			if value == nil {
				drawn.Values = append(drawn.Values, math.NaN())
			} else {
				drawn.Values = append(drawn.Values, value.Median)
			}
		}
		lines = append(lines, drawn)
	}
	return chart.Lines(curve.About, curve.Figure+"; "+r.where()+", medians", curve.Points, lines)
}

// where is the machine and how it was measured, in short.
func (r Report) where() string {
	persistence := "no persistence"
	if r.Persistent {
		persistence = "synced every second"
	}
	return fmt.Sprintf("%d CPUs for servers and clients, %s", r.Machine.CPUs, persistence)
}
