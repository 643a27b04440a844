package terminal

import "strings"

// Cell is one field of a table: clean text and its colour.
type Cell struct {
	Text   string
	Colour Colour
}

// Column is how a table shows one field of every row.
type Column struct {
	Title string
	Right bool // numbers stand at the right
}

// Table lines up rows under titles. The last column may be cut to the width of a
// terminal, the others are shown whole.
type Table struct {
	Columns []Column
	rows    [][]Cell
}

// Add appends a row. Its texts must be clean.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, cells) }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// gap stands between columns.
const gap = "  "

// Render returns the lines of the table, the titles first. width limits the
// lines, 0 for no limit.
func (t *Table) Render(p Painter, width int) []string {
	widths := t.widths()
	lines := make([]string, 0, len(t.rows)+1)
	titles := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = Cell{c.Title, Dim}
	}
	lines = append(lines, t.line(p, titles, widths, width))
	for _, row := range t.rows {
		lines = append(lines, t.line(p, row, widths, width))
	}
	return lines
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = Width(c.Title)
		for _, row := range t.rows {
			if i < len(row) {
				widths[i] = max(widths[i], Width(row[i].Text))
			}
		}
	}
	return widths
}

func (t *Table) line(p Painter, row []Cell, widths []int, limit int) string {
	var b strings.Builder
	used := 0
	for i, cell := range row {
		last := i == len(row)-1
		text := cell.Text
		if i > 0 {
			b.WriteString(gap)
			used += len(gap)
		}
		if last && limit > 0 {
			text = Fit(text, max(limit-used, 1))
		}
		right := t.Columns[i].Right
		padded := text
		if !last || right {
			padded = Pad(text, widths[i], right)
		}
		// Only the text is coloured: a coloured blank shows on some terminals.
		if at := strings.Index(padded, text); text != "" && at >= 0 {
			padded = padded[:at] + p.Paint(cell.Colour, text) + padded[at+len(text):]
		}
		b.WriteString(padded)
		used += max(widths[i], 0)
	}
	return strings.TrimRight(b.String(), " ")
}
