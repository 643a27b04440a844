package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

const (
	// linesShown bounds a tree.
	linesShown = 300
	// depthShown is how deep a tree is indented; what is deeper stands there too.
	depthShown = 16
	// troubleShown is how many steps of a folded line have a line of their own.
	troubleShown = 5
	// nameShown is how much room the names get at the most, kindShown the kinds.
	nameShown = 44
	kindShown = 20
)

// branch is one line of a tree.
type branch struct {
	rail  string // what leads to it
	text  string // its name
	state cyclone.StepState
	kind  string
	nodes []int // one, or those that it counts
	rest  string
}

// tree prints the graph of a run.
func (p *program) tree(v *runSight) {
	t := treeWriter{p: p, v: v, most: linesShown}
	if v.full {
		t.most = len(v.run.Steps)
	}
	for _, i := range v.graph.Roots {
		t.vertex(i, "", "", 0)
	}
	p.printBranches(t.lines)
	if hidden := len(v.run.Steps) - t.steps; hidden > 0 {
		left := make([]int, 0, hidden)
		for i := range v.run.Steps {
			if !t.seen[i] {
				left = append(left, i)
			}
		}
		p.printf("%s  %s", p.paint.Paint(terminal.Dim, "… and "+terminal.Plural(hidden, "more step", "more steps")+" (--full):"), p.counts(v.count(left), "  "))
	}
}

// treeWriter collects the lines of a tree.
type treeWriter struct {
	p     *program
	v     *runSight
	most  int
	lines []branch
	steps int          // that have a line, or are counted in one
	seen  map[int]bool // the same, by index
}

// vertex adds a vertex and what is below it. lead stands before it, and before
// what is below it stands below.
func (t *treeWriter) vertex(i int, lead, below string, depth int) {
	if len(t.lines) >= t.most {
		return
	}
	x := &t.v.graph.Vertices[i]
	b := branch{rail: lead, text: t.v.label(x.Nodes), state: t.v.worst(x.Nodes), nodes: x.Nodes}
	if len(x.Nodes) == 1 {
		b.kind, b.rest = kindText(&t.v.run.Steps[x.Nodes[0]]), t.details(x.Nodes[0], x.Parent)
	} else {
		b.rest = joined([]string{t.p.counts(t.v.count(x.Nodes), "  "), t.dim(kindText(&t.v.run.Steps[x.Nodes[0]]))})
	}
	t.lines = append(t.lines, b)
	t.note(x.Nodes)
	if len(x.Nodes) > 1 {
		t.trouble(x.Nodes, below, len(x.Children) > 0)
	}
	for k, c := range x.Children {
		last := k == len(x.Children)-1
		switch {
		case depth >= depthShown:
			t.vertex(c, below+"└─ ", below, depth)
		case last:
			t.vertex(c, below+"└─ ", below+"   ", depth+1)
		default:
			t.vertex(c, below+"├─ ", below+"│  ", depth+1)
		}
	}
}

func (t *treeWriter) note(nodes []int) {
	if t.seen == nil {
		t.seen = make(map[int]bool)
	}
	for _, i := range nodes {
		t.seen[i] = true
	}
	t.steps += len(nodes)
}

// trouble adds some of the steps of a folded line that want to be looked at.
func (t *treeWriter) trouble(nodes []int, below string, children bool) {
	rail := below + "     "
	if children {
		rail = below + "│    "
	}
	found := t.v.troubled(nodes)
	for k, i := range found {
		if k == troubleShown {
			t.lines = append(t.lines, branch{rail: rail, text: fmt.Sprintf("… and %s more like these", terminal.Count(len(found)-k))})
			return
		}
		s := &t.v.run.Steps[i]
		t.lines = append(t.lines, branch{rail: rail, text: terminal.Clean(s.Node), state: s.State, nodes: []int{i}, rest: t.about(i)})
	}
}

// details says what there is to say of a single step.
func (t *treeWriter) details(i, parent int) string {
	parts := []string{t.about(i)}
	if parent >= 0 && t.v.run.Steps[i].State != cyclone.StepBlocked { // that one says what it still waits for
		var also []int
		under := t.v.graph.Vertices[parent].Nodes
		for _, d := range t.v.deps(i) {
			if !slices.Contains(under, d) {
				also = append(also, d)
			}
		}
		if len(also) > 0 {
			parts = append(parts, t.dim("also after "+t.v.names(also)))
		}
	}
	return joined(parts)
}

// about says how it stands with a step.
func (t *treeWriter) about(i int) string {
	s := &t.v.run.Steps[i]
	var parts []string
	if s.Attempts > 1 || s.Attempts == 1 && (s.State == cyclone.StepRetrying || s.State == cyclone.StepExhausted) {
		parts = append(parts, "attempt "+attempts(*s))
	}
	switch s.State {
	case cyclone.StepBlocked:
		if open := t.open(i); len(open) > 1 || len(open) == 1 && len(t.v.deps(i)) > 1 {
			parts = append(parts, "until "+t.v.names(open)+map[bool]string{true: " has ended", false: " have ended"}[len(open) == 1])
		}
	case cyclone.StepWaiting:
		parts = append(parts, t.p.awaitText(*s, t.v.awaits[s.Node]))
	case cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed:
		if !s.DueAt.IsZero() {
			parts = append(parts, t.p.ahead(s.DueAt))
		}
	case cyclone.StepRunning:
		parts = append(parts, t.dim("on "+s.Worker))
	}
	switch text := errorText(s); {
	case text == "" || s.State == cyclone.StepCompleted:
	case s.State == cyclone.StepExhausted || s.State == cyclone.StepRetrying:
		parts = append(parts, t.p.paint.Paint(stateColours[s.State], terminal.Clean(text)))
	default:
		parts = append(parts, t.dim("before: "+text))
	}
	return joined(parts)
}

// open are the dependencies of a step that have not ended.
func (t *treeWriter) open(i int) (open []int) {
	for _, d := range t.v.deps(i) {
		if !t.v.run.Steps[d].State.Finished() {
			open = append(open, d)
		}
	}
	return open
}

// errorText is a step's last error, or else its code.
func errorText(s *cyclone.StepInfo) string {
	if s.Error == "" {
		return s.Code
	}
	return s.Error
}

// kindText names a step's kind where its name does not.
func kindText(s *cyclone.StepInfo) string {
	switch s.Kind {
	case s.Node, queue.KindWait:
		return ""
	case queue.KindSleep:
		return "sleep"
	}
	return terminal.Clean(s.Kind)
}

func (t *treeWriter) dim(text string) string {
	return t.p.paint.Paint(terminal.Dim, terminal.Clean(text))
}

// joined puts parts that are not empty side by side.
func joined(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// printBranches lines up and prints the lines of a tree.
func (p *program) printBranches(lines []branch) {
	name, kind := 0, 0
	for i := range lines {
		if len(lines[i].nodes) > 0 {
			name = max(name, min(lines[i].width(), nameShown))
		}
		kind = max(kind, min(terminal.Width(lines[i].kind), kindShown))
	}
	for i := range lines {
		p.printBranch(&lines[i], name, kind)
	}
}

// width is the room of what stands before the state.
func (b *branch) width() int { return terminal.Width(b.rail) + 2 + terminal.Width(b.text) }

// stateShown is the width of the longest state.
const stateShown = 9

func (p *program) printBranch(b *branch, name, kind int) {
	dim := func(s string) string { return p.paint.Paint(terminal.Dim, s) }
	line := dim(b.rail)
	if len(b.nodes) == 0 {
		p.printf("%s%s", line, dim(b.text))
		return
	}
	colour := stateColours[b.state]
	line += p.paint.Paint(colour, glyphs[b.state]) + " " + b.text + strings.Repeat(" ", max(name-b.width(), 0)) + "  "
	if len(b.nodes) == 1 {
		line += p.paint.Paint(colour, terminal.Pad(string(b.state), stateShown, false)) + "  "
		if kind > 0 {
			line += dim(terminal.Pad(b.kind, kind, false)) + "  "
		}
	}
	line = strings.TrimRight(line+b.rest, " ")
	if columns := p.width(); columns > 0 && terminal.PaintedWidth(line) > columns {
		line = terminal.Clip(line, columns-1) + "…"
	}
	p.printf("%s", line)
}
