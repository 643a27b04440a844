package terminal

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{Title: "run", Right: true}, {Title: "node"}, {Title: "error"}}}
	table.Add(Cell{Text: "7"}, Cell{Text: "send_email"}, Cell{Text: "it failed for a long reason"})
	table.Add(Cell{Text: "12345"}, Cell{Text: "漢字", Colour: Bad}, Cell{})
	for _, c := range []struct {
		name  string
		paint Painter
		width int
		want  []string
	}{
		{"plain", Painter{}, 0, []string{
			"  run  node        error",
			"    7  send_email  it failed for a long reason",
			"12345  漢字",
		}},
		{"narrow", Painter{}, 30, []string{
			"  run  node        error",
			"    7  send_email  it failed…",
			"12345  漢字",
		}},
		{"coloured", Painter{On: true}, 0, []string{
			"  \x1b[2mrun\x1b[0m  \x1b[2mnode\x1b[0m        \x1b[2merror\x1b[0m",
			"    7  send_email  it failed for a long reason",
			"12345  \x1b[31m漢字\x1b[0m",
		}},
	} {
		got := strings.Join(table.Render(c.paint, c.width), "\n")
		if want := strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// A last column of numbers ends where its title does.
func TestTableOfNumbers(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{Title: "queue"}, {Title: "ready", Right: true}}}
	table.Add(Cell{Text: "a"}, Cell{Text: "1", Colour: Good})
	got := strings.Join(table.Render(Painter{}, 0), "\n")
	if want := "queue  ready\na          1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
