package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
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
		row := []string{f.Title, figures.Middle(f.Floor), figures.Middle(f.Cyclone), figures.Ends(f.Cyclone), figures.Middle(f.Ratio), figures.Ends(f.Ratio), f.Target, ""}
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
	figures.WriteAligned(&text, rows, isNumber)
	if missed > 0 {
		fmt.Fprintf(&text, "\n%d targets missed.\n", missed)
	}
	if r.Quick {
		text.WriteString("\nA quick run: small sizes, few rounds. Quote the figures of a full run.\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// isNumber says which columns of the table are aligned to the right.
func isNumber(column int) bool { return column == 1 || column == 2 || column == 4 }
