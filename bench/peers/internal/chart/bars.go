package chart

import "github.com/cyclone-queue/cyclone/bench/internal/figures"

// Bar is one value with its smallest and its largest.
type Bar struct {
	Label          string
	Value, Low, Up float64
	// Note stands behind the value.
	Note string
	// Highlight colours it apart.
	Highlight bool
}

const (
	barTop    = 62
	barHeight = 22
	barStep   = 32
	barLeft   = 110
	barRight  = 250 // room for the value and the note
)

// Bars draws horizontal bars from the top to the bottom in the order given.
func Bars(title, subtitle string, bars []Bar) string {
	largest := 0.0
	for _, bar := range bars {
		largest = max(largest, bar.Up)
	}
	if largest == 0 {
		largest = 1
	}
	c := newCanvas(title, subtitle, barTop+barStep*len(bars)+margin/2)
	for i, bar := range bars {
		y := float64(barTop + i*barStep)
		middle := y + barHeight/2
		scale := func(v float64) float64 { return v / largest * (width - barLeft - barRight) }
		fill, weight := plain, "400"
		if bar.Highlight {
			fill, weight = highlight, "600"
		}
		c.text(barLeft-10, middle+5, "end", ink, fontSize, weight, bar.Label)
		c.rect(barLeft, y, scale(bar.Value), barHeight, fill)
		if bar.Up > bar.Low {
			c.line(barLeft+scale(bar.Low), middle, barLeft+scale(bar.Up), middle, ink, 1)
			for _, end := range []float64{bar.Low, bar.Up} {
				c.line(barLeft+scale(end), middle-4, barLeft+scale(end), middle+4, ink, 1)
			}
		}
		text := figures.Number(bar.Value)
		if bar.Note != "" {
			text += "  " + bar.Note
		}
		c.text(barLeft+scale(max(bar.Up, bar.Value))+8, middle+5, "start", ink, fontSize, weight, text)
	}
	return c.end()
}
