package chart

import (
	"math"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
)

// Line is one series: a value for each point, NaN where there is none.
type Line struct {
	Label  string
	Values []float64
}

const (
	plotTop    = 70
	plotHeight = 220
	plotLeft   = 70
	plotRight  = 190 // room for the labels at the ends of the lines
	plotFoot   = 34
	plotLines  = 4 // of the grid
)

// Lines draws lines over named points at equal distances, from zero up.
func Lines(title, subtitle string, points []string, lines []Line) string {
	largest := 0.0
	for _, line := range lines {
		for _, v := range line.Values {
			if !math.IsNaN(v) {
				largest = max(largest, v)
			}
		}
	}
	if largest == 0 {
		largest = 1
	}
	c := newCanvas(title, subtitle, plotTop+plotHeight+plotFoot)
	x := func(i int) float64 {
		return plotLeft + float64(i)*float64(width-plotLeft-plotRight)/float64(max(1, len(points)-1))
	}
	y := func(v float64) float64 { return plotTop + plotHeight*(1-v/largest) }
	for i := range plotLines + 1 {
		v := largest * float64(i) / plotLines
		c.line(plotLeft, y(v), width-plotRight, y(v), grid, 1)
		c.text(plotLeft-8, y(v)+4, "end", faint, fontSize-1, "400", figures.Number(v))
	}
	for i, point := range points {
		c.text(x(i), plotTop+plotHeight+20, "middle", faint, fontSize-1, "400", point)
	}
	labels := labelHeights(lines, y)
	for k, line := range lines {
		colour, last := lineColours[k%len(lineColours)], -1
		for i, v := range line.Values {
			if math.IsNaN(v) {
				continue
			}
			if last >= 0 {
				c.line(x(last), y(line.Values[last]), x(i), y(v), colour, 2)
			}
			c.circle(x(i), y(v), colour)
			last = i
		}
		if last >= 0 {
			c.text(x(last)+10, labels[k], "start", colour, fontSize, "600", line.Label+" "+figures.Number(line.Values[last]))
		}
	}
	return c.end()
}

// labelHeights puts the labels beside the ends of their lines, and moves apart those
// that would lie on each other.
func labelHeights(lines []Line, y func(float64) float64) []float64 {
	heights := make([]float64, len(lines))
	for k, line := range lines {
		for _, v := range line.Values {
			if !math.IsNaN(v) {
				heights[k] = y(v) + 4
			}
		}
		for moved := true; moved; {
			moved = false
			for _, other := range heights[:k] {
				if math.Abs(other-heights[k]) < fontSize {
					heights[k] = other - fontSize
					moved = true
				}
			}
		}
	}
	return heights
}
