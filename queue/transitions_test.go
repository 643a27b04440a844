package queue

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

var updateDocs = flag.Bool("update", false, "write the generated parts of docs")

const statesPage = "../docs/states.md"

// TestStatesPage holds docs/states.md against the transition table.
func TestStatesPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(statesPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	page = between(t, page, "diagram", diagram())
	page = between(t, page, "table", table(Transitions()))
	page = between(t, page, "nodes", table(NodeTransitions()))
	if *updateDocs {
		if err := os.WriteFile(statesPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(raw), page); diff != "" {
		t.Errorf("docs/states.md is not current, run this test with -update: -page +table\n%s", diff)
	}
}

// between returns the page with what stands between a mark and its end replaced.
func between(t *testing.T, page, mark, text string) string {
	t.Helper()
	part := regexp.MustCompile(`(?s)(<!-- ` + mark + `: [^\n]*-->\n).*?(<!-- end -->)`)
	if !part.MatchString(page) {
		t.Fatalf("no mark %q", mark)
	}
	return part.ReplaceAllStringFunc(page, func(old string) string {
		m := part.FindStringSubmatch(old)
		return m[1] + text + m[2]
	})
}

func nameOf(s cyclone.StepState) string {
	if s == "" {
		return "–"
	}
	return "`" + string(s) + "`"
}

func table(transitions []Transition) string {
	var b strings.Builder
	b.WriteString("\n| from | verb | when | to | script |\n| --- | --- | --- | --- | --- |\n")
	for _, tr := range transitions {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s.lua` |\n", nameOf(tr.From), tr.Verb, tr.When, nameOf(tr.To), tr.Script)
	}
	b.WriteString("\n")
	return b.String()
}

// diagram leaves out what ends in nothing but for completion: each state can be deleted.
func diagram() string {
	var b strings.Builder
	b.WriteString("\n```mermaid\nstateDiagram-v2\n")
	drawn := map[string]bool{}
	for _, tr := range Transitions() {
		if tr.To == "" && tr.Verb != "complete" && tr.Verb != "trim" {
			continue
		}
		line := fmt.Sprintf("    %s --> %s: %s\n", node(tr.From), node(tr.To), tr.Verb)
		if !drawn[line] {
			b.WriteString(line)
		}
		drawn[line] = true
	}
	b.WriteString("```\n\nEvery state also ends by `delete`, and what waits or is ready by `purge`.\n\n")
	return b.String()
}

func node(s cyclone.StepState) string {
	if s == "" {
		return "[*]"
	}
	return string(s)
}

// TestTransitionsAreWhole: every state of a single step can be entered and left,
// and only what is finished or deleted ends.
func TestTransitionsAreWhole(t *testing.T) {
	t.Parallel()
	entered, left := map[cyclone.StepState]bool{}, map[cyclone.StepState]bool{}
	for _, tr := range Transitions() {
		entered[tr.To], left[tr.From] = true, true
		if tr.From.Finished() && tr.To != "" && tr.Verb != "retry" {
			t.Errorf("%v: a finished step goes on", tr)
		}
		if tr.To == "" && !tr.From.Finished() && tr.Verb != "delete" && tr.Verb != "purge" && tr.Verb != "complete" {
			t.Errorf("%v: an unfinished step ends", tr)
		}
	}
	for _, s := range []cyclone.StepState{
		cyclone.StepScheduled, cyclone.StepReady, cyclone.StepRunning, cyclone.StepRetrying, cyclone.StepSnoozed,
		cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled,
	} {
		if !entered[s] || !left[s] {
			t.Errorf("%s: entered %v, left %v", s, entered[s], left[s])
		}
	}
}
