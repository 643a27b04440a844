package figures

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// WriteAligned pads every column to its widest cell. The columns for which right
// says so are aligned to the right.
func WriteAligned(w *strings.Builder, rows [][]string, right func(column int) bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right(i) {
				cell = fill + cell
			} else {
				cell += fill
			}
			if line.WriteString(cell); widths[i] > 0 {
				line.WriteString("  ")
			}
		}
		w.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// Middle is the median as text, and a dash for nothing.
func Middle(s *Spread) string {
	if s == nil {
		return "–"
	}
	return Number(s.Median)
}

// Ends is the smallest and the largest in brackets, empty for a single value.
func Ends(s *Spread) string {
	if s == nil || len(s.Samples) < 2 {
		return ""
	}
	return "(" + Number(s.Min) + ".." + Number(s.Max) + ")"
}

// Number prints three significant digits, and thousands with a k.
func Number(v float64) string {
	switch size := max(v, -v); {
	case size >= 9_999.5:
		return fmt.Sprintf("%.0fk", v/1000)
	case size >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
