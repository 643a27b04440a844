package cli

import (
	"fmt"
	"strings"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// fills are the background and the line of a state in a drawing.
var fills = map[cyclone.StepState][2]string{
	cyclone.StepCompleted: {"#d3f2d8", "#2b8a3e"}, cyclone.StepExhausted: {"#ffd8d8", "#c92a2a"}, cyclone.StepCancelled: {"#e9ecef", "#868e96"},
	cyclone.StepRunning: {"#d0ebff", "#1971c2"}, cyclone.StepReady: {"#ffffff", "#495057"}, cyclone.StepRetrying: {"#ffec99", "#e67700"},
	cyclone.StepSnoozed: {"#e5dbff", "#6741d9"}, cyclone.StepScheduled: {"#e5dbff", "#6741d9"}, cyclone.StepWaiting: {"#e5dbff", "#6741d9"},
	cyclone.StepBlocked: {"#f8f9fa", "#adb5bd"},
}

// boxLines are the lines of text in the box of a vertex, not escaped.
func (v *runSight) boxLines(nodes []int) []string {
	if len(nodes) == 1 {
		s := &v.run.Steps[nodes[0]]
		line := string(s.State)
		if s.Attempts > 1 {
			line += ", attempt " + attempts(*s)
		}
		return append([]string{v.label(nodes), line}, v.awaitLines(s)...)
	}
	lines := []string{v.label(nodes)}
	n := v.count(nodes)
	for _, s := range inTrouble {
		if n[s] > 0 {
			lines = append(lines, terminal.Count(n[s])+" "+string(s))
		}
	}
	return lines
}

func (v *runSight) awaitLines(s *cyclone.StepInfo) (lines []string) {
	if s.State == cyclone.StepWaiting {
		for _, name := range signalsOf(v.awaits[s.Node]) {
			lines = append(lines, "for "+terminal.Clean(name))
		}
	}
	return lines
}

// mermaid prints the graph as a Mermaid flowchart.
func (p *program) mermaid(v *runSight) {
	p.printf("---\ntitle: \"%s\"\n---\nflowchart TD", mermaidText(v.title()))
	used := make(map[cyclone.StepState]bool)
	for i := range v.graph.Vertices {
		x := &v.graph.Vertices[i]
		lines, state := v.boxLines(x.Nodes), v.worst(x.Nodes)
		for k := range lines {
			lines[k] = mermaidText(lines[k])
		}
		open, shut := `["`, `"]`
		if len(x.Nodes) > 1 {
			open, shut = `[["`, `"]]`
		}
		p.printf("  n%d%s%s%s:::%s", i, open, strings.Join(lines, "<br/>"), shut, state)
		used[state] = true
	}
	for i := range v.graph.Vertices {
		for _, d := range v.graph.Vertices[i].Deps {
			p.printf("  n%d --> n%d", d, i)
		}
	}
	for _, s := range states {
		if used[s] {
			p.printf("  classDef %s fill:%s,stroke:%s,color:#212529", s, fills[s][0], fills[s][1])
		}
	}
}

// title names the run and its state.
func (v *runSight) title() string {
	return fmt.Sprintf("%s %v: %s", v.run.Name, v.run.ID, v.run.State)
}

// mermaidText escapes what is no letter, digit or harmless sign.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range terminal.Clean(s) {
		switch {
		case r == '"' || r == '#' || r == '<' || r == '>' || r == '&' || r == '`' || r == '\\' || r == ';':
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// dot prints the graph for Graphviz.
func (p *program) dot(v *runSight) {
	p.printf("digraph run {\n  label=%s; labelloc=t; fontname=\"sans-serif\"\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"]", dotText(v.title()))
	for i := range v.graph.Vertices {
		x := &v.graph.Vertices[i]
		fill := fills[v.worst(x.Nodes)]
		more := ""
		if len(x.Nodes) > 1 {
			more = ", peripheries=2"
		}
		p.printf("  n%d [label=%s, fillcolor=%q, color=%q%s]", i, dotText(v.boxLines(x.Nodes)...), fill[0], fill[1], more)
	}
	for i := range v.graph.Vertices {
		for _, d := range v.graph.Vertices[i].Deps {
			p.printf("  n%d -> n%d", d, i)
		}
	}
	p.printf("}")
}

// dotText is a string of Graphviz with the given lines.
func dotText(lines ...string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(terminal.Clean(line))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
