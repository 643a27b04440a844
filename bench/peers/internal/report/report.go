// Package report prints what a run has measured: as tables, as JSON and as charts.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/internal/machine"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/run"
)

// Report is the outcome of one run of the program.
type Report struct {
	Machine    machine.Machine `json:"machine"`
	Persistent bool            `json:"persistent"`
	Quick      bool            `json:"quick"`
	Rounds     int             `json:"rounds"`
	// Seconds is how long the run took.
	Seconds    float64      `json:"seconds"`
	Contenders []Contender  `json:"contenders"`
	LeftOut    []LeftOut    `json:"left_out,omitempty"`
	Results    []run.Result `json:"results"`
	Targets    []Verdict    `json:"targets,omitempty"`
}

// Contender is one that took part.
type Contender struct {
	Name      string            `json:"name"`
	Guarantee string            `json:"guarantee"`
	About     string            `json:"about"`
	Server    string            `json:"server"`
	Library   string            `json:"library"`
	Settings  map[string]string `json:"settings"` // chosen, by purpose
}

// LeftOut is one that could not take part.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// WriteJSON writes one document.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes a table for every case.
func (r Report) WriteText(w io.Writer) error {
	var text strings.Builder
	r.writeHead(&text)
	for _, result := range r.Results {
		r.writeResult(&text, result)
	}
	writeCurves(&text, Curves(r.Results))
	r.writeTargets(&text)
	if r.Quick {
		text.WriteString("\nA quick run: small sizes, few rounds. Quote the figures of a full run.\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (r Report) writeHead(text *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(text, "%s, %d CPUs for servers and clients, %s, %s\n", m.Model, m.CPUs, m.OS, m.Go)
	if m.Load >= machine.Busy {
		fmt.Fprintf(text, "The machine was busy with other things (load average %.1f): the figures are low and wide.\n", m.Load)
	}
	persistence := "without persistence"
	if r.Persistent {
		persistence = "synced to disk every second"
	}
	fmt.Fprintf(text, "servers %s; %d rounds; medians (min..max); Cyclone ÷ is Cyclone's value divided by the contender's, round by round\n\n",
		persistence, r.Rounds)
	rows := [][]string{{"contender", "guarantee", "library", "server", ""}}
	for _, c := range r.Contenders {
		rows = append(rows, []string{c.Name, c.Guarantee, c.Library, c.Server, c.About})
	}
	figures.WriteAligned(text, rows, never)
	for _, out := range r.LeftOut {
		fmt.Fprintf(text, "left out: %s: %s\n", out.Name, out.Why)
	}
	text.WriteString("\nsettings, the best of those tried\n")
	for _, c := range r.Contenders {
		for _, purpose := range purposes {
			if chosen := c.Settings[string(purpose)]; chosen != "" {
				fmt.Fprintf(text, "  %s, %s: %s\n", c.Name, purpose, chosen)
			}
		}
	}
}

func never(int) bool { return false }

// writeResult writes one case: the figure that counts with its ends and ratios, and
// of the others the medians.
func (r Report) writeResult(text *strings.Builder, result run.Result) {
	fmt.Fprintf(text, "\n%s (%s)\n", result.Title, result.Case)
	if len(result.Figures) == 0 {
		return
	}
	head := []string{"", result.Figures[0].Title, "", "Cyclone ÷", ""}
	for _, f := range result.Figures[1:] {
		head = append(head, f.Title)
	}
	rows := [][]string{append(head, "rounds", "guarantee")}
	for i, side := range result.Sides {
		first := result.Figures[0].Cells[i]
		if side.Cannot && r.isVariant(side.Contender) {
			continue
		}
		row := []string{side.Contender, figures.Middle(first.Value), figures.Ends(first.Value), "", ""}
		if first.Ratio != nil {
			row[3], row[4] = figures.Middle(first.Ratio), figures.Ends(first.Ratio)
		}
		for _, f := range result.Figures[1:] {
			row = append(row, figures.Middle(f.Cells[i].Value))
		}
		rows = append(rows, append(row, rounds(side), r.guarantee(side.Contender)))
	}
	last := len(head)
	figures.WriteAligned(text, rows, func(column int) bool {
		return column == 1 || column == 3 || column > 4 && column <= last
	})
	for _, side := range result.Sides {
		if side.Failed != "" {
			fmt.Fprintf(text, "%s failed: %s\n", side.Contender, side.Failed)
		}
	}
}

func rounds(side run.Side) string {
	if side.Cannot || side.Rounds == 0 {
		return "–"
	}
	return fmt.Sprint(side.Rounds)
}

func (r Report) guarantee(name string) string {
	for _, c := range r.Contenders {
		if c.Name == name {
			return c.Guarantee
		}
	}
	return ""
}
