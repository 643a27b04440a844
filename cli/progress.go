package cli

import (
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// progressEvery limits how often a line of progress is drawn in a terminal, and
// printed elsewhere.
const (
	progressEvery = 100 * time.Millisecond
	progressRare  = 5 * time.Second
)

// progress shows on standard error how far long work has come: in a terminal in
// one line that is drawn again, elsewhere in a line now and then. Programs get
// none.
type progress struct {
	p     *program
	live  bool
	last  time.Time
	drawn bool
}

func (p *program) progress() *progress {
	return &progress{p: p, live: p.tty(p.Err), last: p.now()}
}

// tell shows where things are, unless it did a moment ago.
func (g *progress) tell(format string, args ...any) {
	every := progressRare
	if g.live {
		every = progressEvery
	}
	now := g.p.now()
	if g.p.json || now.Sub(g.last) < every {
		return
	}
	g.last = now
	line := terminal.Clean(fmt.Sprintf(format, args...))
	if !g.live {
		fmt.Fprintln(g.p.Err, line)
		return
	}
	columns, _ := terminal.Size(g.p.Err)
	fmt.Fprintf(g.p.Err, "\r\x1b[K%s", g.p.painted.Paint(terminal.Dim, terminal.Fit(line, columns-1)))
	g.drawn = true
}

// done removes the line.
func (g *progress) done() {
	if g.drawn {
		fmt.Fprint(g.p.Err, "\r\x1b[K")
		g.drawn = false
	}
}
