package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// writeJSON prints one value as one line of JSON that is safe to look at.
func (p *program) writeJSON(w io.Writer, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintf(w, "{\"error\":%q}\n", err.Error())
		return
	}
	_, _ = w.Write(terminal.CleanJSON(b.Bytes()))
}

// object prints one value for programs.
func (p *program) object(v any) { p.writeJSON(p.Out, v) }

// printf prints a line for people. Its arguments must be clean.
func (p *program) printf(format string, args ...any) {
	fmt.Fprintf(p.Out, format+"\n", args...)
}

// table prints a table; in a terminal its last column is cut to fit.
func (p *program) table(t *terminal.Table) {
	for _, line := range t.Render(p.paint, p.width()) {
		fmt.Fprintln(p.Out, line)
	}
}

// width is that of the terminal, 0 when standard output is none.
func (p *program) width() int {
	if !p.tty(p.Out) {
		return 0
	}
	columns, _ := terminal.Size(p.Out)
	return columns
}

// text is a cell in no colour.
func text(s string) terminal.Cell { return terminal.Cell{Text: terminal.Clean(s)} }

// number is a cell with a count; zero is shown as a faint dot.
func number[N int | int64](n N, colour terminal.Colour) terminal.Cell {
	if n == 0 {
		return terminal.Cell{Text: "·", Colour: terminal.Dim}
	}
	return terminal.Cell{Text: terminal.Count(n), Colour: colour}
}
