package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// report is the whole outcome of one run of the program.
type report struct {
	Machine      machine  `json:"machine"`
	PayloadBytes int      `json:"payload_bytes"`
	Concurrency  int      `json:"worker_concurrency"`
	Rounds       int      `json:"rounds"`
	Quick        bool     `json:"quick"`
	Figures      []result `json:"figures"`
}

func (r report) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// writeTable writes medians over the rounds, with the smallest and largest in brackets.
func (r report) writeTable(w io.Writer) error {
	rows := [][]string{{"figure", "floor", "Cyclone", "", "ratio", "", "target", "met"}}
	missed := 0
	for _, f := range r.Figures {
		row := []string{f.Title, middle(f.Floor), middle(f.Cyclone), ends(f.Cyclone), middle(f.Ratio), ends(f.Ratio), f.Target, ""}
		if f.Met != nil {
			row[7] = "yes"
			if !*f.Met {
				row[7] = "NO"
				missed++
			}
		}
		rows = append(rows, row)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%d-byte payloads, worker concurrency %d, %d rounds; medians (min..max)\n\n",
		r.Machine, r.PayloadBytes, r.Concurrency, r.Rounds)
	writeAligned(&text, rows)
	if missed > 0 {
		fmt.Fprintf(&text, "\n%d targets missed.\n", missed)
	}
	if r.Quick {
		text.WriteString("\nA quick run: small sizes, few rounds. Quote the figures of a full run.\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// numeric says which columns of the table are aligned to the right.
var numeric = [...]bool{1: true, 2: true, 4: true, 7: false}

// writeAligned pads every column to its widest cell.
func writeAligned(w *strings.Builder, rows [][]string) {
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
			if numeric[i] {
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

func middle(s *spread) string {
	if s == nil {
		return "–"
	}
	return number(s.Median)
}

func ends(s *spread) string {
	if s == nil || len(s.Samples) < 2 {
		return ""
	}
	return "(" + number(s.Min) + ".." + number(s.Max) + ")"
}

// number prints three significant digits, and thousands with a k.
func number(v float64) string {
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
