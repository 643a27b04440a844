package report

import (
	"fmt"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/run"
)

// Curve is one figure at ever larger points.
type Curve struct {
	Name, About, Figure string
	Points              []string
	Lines               []Line
}

// Line is one contender's; a value is nil where there is none.
type Line struct {
	Contender string
	Values    []*figures.Spread
}

// Curves puts the growth cases of the results together: one curve for each figure.
func Curves(results []run.Result) []Curve {
	var curves []Curve
	for start := 0; start < len(results); {
		end := start + 1
		for end < len(results) && results[end].Curve == results[start].Curve {
			end++
		}
		if results[start].Curve != "" {
			curves = append(curves, curvesOf(results[start:end])...)
		}
		start = end
	}
	return curves
}

// curvesOf are the curves of one kind of growth: all its points have the same figures
// and the same contenders.
func curvesOf(points []run.Result) []Curve {
	var curves []Curve
	for f, figure := range points[0].Figures {
		curve := Curve{Name: points[0].Curve, About: points[0].About, Figure: figure.Title}
		for _, point := range points {
			curve.Points = append(curve.Points, point.Point)
		}
		for side, c := range figure.Cells {
			line := Line{Contender: c.Contender}
			known := false
			for _, point := range points {
				value := point.Figures[f].Cells[side].Value
				known = known || value != nil
				line.Values = append(line.Values, value)
			}
			if known {
				curve.Lines = append(curve.Lines, line)
			}
		}
		curves = append(curves, curve)
	}
	return curves
}

// writeCurves writes each curve with what every point is of the first one.
func writeCurves(text *strings.Builder, curves []Curve) {
	for _, curve := range curves {
		fmt.Fprintf(text, "\n%s: %s\n", curve.About, curve.Figure)
		head := []string{""}
		for _, point := range curve.Points {
			head = append(head, point, "")
		}
		rows := [][]string{head}
		for _, line := range curve.Lines {
			row := []string{line.Contender}
			for i, value := range line.Values {
				row = append(row, figures.Middle(value), relative(value, line.Values[0], i))
			}
			rows = append(rows, row)
		}
		figures.WriteAligned(text, rows, func(column int) bool { return column%2 == 1 })
	}
}

func relative(value, first *figures.Spread, i int) string {
	if i == 0 || value == nil || first == nil || first.Median == 0 {
		return ""
	}
	return "× " + figures.Number(value.Median/first.Median)
}
