// Package chart draws small charts as SVG: bars for one figure of many, lines for
// one figure that something else is changed for.
package chart

import (
	"fmt"
	"html"
	"strings"
)

// Colours: one for who is looked at, one for all others, and those of lines.
const (
	highlight  = "#0b7285"
	plain      = "#adb5bd"
	ink        = "#212529"
	faint      = "#868e96"
	grid       = "#e9ecef"
	background = "#ffffff"
)

var lineColours = []string{highlight, "#e8590c", "#5f3dc4", "#2b8a3e", "#c2255c", "#495057"}

const (
	width    = 760
	margin   = 16
	fontSize = 13
	font     = "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\""
)

// canvas collects elements.
type canvas struct {
	strings.Builder
	height int
}

func newCanvas(title, subtitle string, height int) *canvas {
	c := &canvas{height: height}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" %s font-size="%d">`+"\n",
		width, height, width, height, font, fontSize)
	fmt.Fprintf(c, "<title>%s</title>\n", html.EscapeString(title))
	c.rect(0, 0, width, float64(height), background)
	c.text(margin, 26, "start", ink, 16, "600", title)
	c.text(margin, 46, "start", faint, fontSize-1, "400", subtitle)
	return c
}

func (c *canvas) end() string {
	c.WriteString("</svg>\n")
	return c.String()
}

func (c *canvas) rect(x, y, w, h float64, fill string) {
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, max(w, 0), max(h, 0), fill)
}

func (c *canvas) line(x1, y1, x2, y2 float64, stroke string, strokeWidth float64) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f"/>`+"\n", x1, y1, x2, y2, stroke, strokeWidth)
}

func (c *canvas) circle(x, y float64, fill string) {
	fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, fill)
}

func (c *canvas) text(x, y float64, anchor, fill string, size int, weight, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="%d" font-weight="%s">%s</text>`+"\n",
		x, y, anchor, fill, size, weight, html.EscapeString(text))
}
