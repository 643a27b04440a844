package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/workflow"
)

// What the commands print of runs of many steps, on every server.
func TestGoldenRuns(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := flows(t, s)
		for _, c := range []struct{ name, line string }{
			{"runs_list", "runs list"},
			{"runs_list_json", "runs list --json"},
			{"runs_list_filtered", "runs list --state failed --name import"},
			{"runs_list_none", "runs list --state cancelled --name order"},
			{"runs_show_order", "runs show 1"},
			{"runs_show_order_json", "runs show 1 --json"},
			{"runs_show_order_color", "runs show 1 --color always"},
			{"runs_show_order_mermaid", "runs show 1 --mermaid"},
			{"runs_show_order_dot", "runs show 1 --dot"},
			{"runs_show_fan", "runs show 2"},
			{"runs_show_fan_full", "runs show 2 --full"},
			{"runs_show_fan_mermaid", "runs show 2 --mermaid"},
			{"runs_show_fan_dot", "runs show 2 --dot"},
			{"runs_show_failed", "runs show 3"},
			{"runs_show_task", "runs show 6"},
			{"runs_steps_list", "steps list"},
			{"runs_steps_show", "steps show 1 approval"},
			{"runs_queues", "queues mail"},
		} {
			r := e.run(t, strings.Fields(c.line)...)
			if r.code != ExitOK {
				t.Errorf("%s: exit %d: %s", c.line, r.code, r.err)
				continue
			}
			text := "$ cyclone " + c.line + "\n" + r.out
			if r.err != "" {
				text += "--- standard error\n" + r.err
			}
			golden(t, c.name, text)
		}
	})
}

// A retry tells what came back, and a refused one what to do instead.
func TestRetryInRuns(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := flows(t, s)
		for _, c := range []struct {
			line string
			code int
			says string
		}{
			{"retry 3 load", ExitRefused, "`cyclone retry 3 check`"},
			{"retry 3 chekc", ExitNotFound, "Did you mean check?"},
			{"retry 3 read", ExitRefused, "not discarded"},
			{"retry 4 --all", ExitRefused, "not discarded"},
			{"retry 2 page-7", ExitRefused, "not discarded"},
			{"steps show 3", ExitUsage, "cyclone steps show 3 NODE"},
		} {
			e.fails(t, c.code, c.says, strings.Fields(c.line)...)
		}
		if out := e.ok(t, "retry", "3", "check", "--reason", "mended"); out != "retried check of run 3\nback with it: load, report\n" {
			t.Errorf("%q", out)
		}
		if got := read[runView](t, e.ok(t, "runs", "show", "3", "--json")); got.State != cyclone.RunRunning || got.Steps[1].State != cyclone.StepReady || got.Steps[3].State != cyclone.StepBlocked {
			t.Errorf("%+v", got)
		}
		work(t, client(t, s), after(1, cyclone.EventFinished), note, importRow)
		got := read[retried](t, e.ok(t, "retry", "3", "--all", "--json"))
		if fmt.Sprint(got.Opened, got.CameBack) != "[check] [load report]" || got.RunID != 3 || got.Operation != "retry" {
			t.Errorf("%+v", got)
		}
		work(t, client(t, s), after(1, cyclone.EventFinished), note, importRow)
		many := read[manyResult](t, e.ok(t, "retry", "--kind", "import_row", "--error", "bad", "--since", "1h", "--json"))
		if many.Done != 1 {
			t.Errorf("%+v", many)
		}
		if got := read[retried](t, e.ok(t, "retry", "5", "--all", "--json")); fmt.Sprint(got.Opened) != "[hello]" {
			t.Errorf("what an operator had cancelled: %+v", got)
		}
		e.ok(t, "doctor")
	})
}

func TestCancelNode(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := flows(t, s)
		e.fails(t, ExitNotFound, "Did you mean tell?", "cancel", "1", "tel")
		e.fails(t, ExitUsage, "exclude each other", "cancel", "1", "tell", "--queue", "mail")
		e.fails(t, ExitUsage, "needs one run", "cancel", "--node", "tell")
		e.fails(t, ExitRefused, "ended", "cancel", "1", "charge")
		r := e.run(t, "cancel", "1", "ship")
		if r.code != ExitOK || r.out != "cancelled ship of run 1\n" || !strings.Contains(r.err, "The run is failed now") {
			t.Errorf("%+v", r)
		}
		if got := read[single](t, e.ok(t, "cancel", "2", "--node", "total", "--json")); got.Node != "total" || got.RunID != 2 {
			t.Errorf("%+v", got)
		}
		if r := e.fails(t, ExitRefused, "its 4 steps", "delete", "3"); r.out != "" {
			t.Error(r.out)
		}
		e.ok(t, "delete", "3", "--yes")
		e.fails(t, ExitNotFound, "not found", "runs", "show", "3")
		e.ok(t, "doctor")
	})
}

func TestTimesOfNodes(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := flows(t, s)
		e.fails(t, ExitRefused, "many steps", "run-now", "2")
		e.fails(t, ExitRefused, "many steps", "reschedule", "2", "--in", "1h")
		e.fails(t, ExitRefused, "it waits for page-7", "run-now", "2", "total")
		e.fails(t, ExitNotFound, "Did you mean page-7?", "run-now", "2", "page_7")
		e.fails(t, ExitRefused, "ended", "reschedule", "3", "check", "--in", "1h")
		e.fails(t, ExitUsage, "too much", "run-now", "2", "page-7", "--node", "page-7")
		e.fails(t, ExitRefused, "cyclone signal 6 NAME", "run-now", "6")
		e.fails(t, ExitNotFound, "no node", "run-now", "6", "other")
		if out := e.ok(t, "reschedule", "2", "page-7", "--at", "2140-01-02T03:04:05Z"); !strings.HasPrefix(out, "page-7 of run 2 starts at ") {
			t.Error(out)
		}
		if out := e.ok(t, "run-now", "2", "page-7"); out != "page-7 of run 2 is ready\n" {
			t.Error(out)
		}
		if got := read[single](t, e.ok(t, "run-now", "2", "--node", "page-7", "--json")); got.Node != "page-7" || got.Operation != "run-now" {
			t.Errorf("%+v", got)
		}
	})
}

func TestSignal(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := flows(t, s)
		for _, c := range []struct {
			line string
			code int
			says string
		}{
			{"signal 1", ExitUsage, "missing"},
			{"signal x approval", ExitUsage, "not a run id"},
			{"signal 1 a:b", ExitUsage, "not a signal's name"},
			{"signal 1 approval --json {", ExitUsage, "not valid JSON"},
			{"signal 1 approval --key " + strings.Repeat("k", 2000), ExitUsage, "key of"},
			{"signal 99 approval", ExitNotFound, "not found"},
			{"signal 3 approval", ExitRefused, "has ended"},
		} {
			e.fails(t, c.code, c.says, strings.Fields(c.line)...)
		}
		if out := e.ok(t, "signal", "1", "approval"); out != "sent approval to run 1\n" {
			t.Errorf("%q", out)
		}
		got := read[signalled](t, e.ok(t, "--json", "signal", "6", "confirmed", "--json", `"ada"`, "--key", "k"))
		if got.Signal != "confirmed" || got.RunID != runSignUp {
			t.Errorf("%+v", got)
		}
		e.ok(t, "signal", "6", "confirmed", "--key", "k") // seen before
		seen := 0
		work(t, client(t, s), func(ev cyclone.StepEvent) bool {
			if ev.Type == cyclone.EventFinished && e.name(ev.RunID) == runOrder || ev.Type == cyclone.EventCompleted && e.name(ev.RunID) == runSignUp {
				seen++
			}
			return seen == 2
		}, note, signUp)
		if d := read[stepDetail](t, e.ok(t, "steps", "show", "6", "--json")); d.Output == nil || string(d.Output.JSON) != `"ada"` {
			t.Errorf("%+v", d)
		}
	})
}

// A fan of a thousand is a line, and a long chain ends somewhere.
func TestLargeRuns(t *testing.T) {
	t.Parallel()
	s := testserver.Real(t)
	e, c := on(s.Server), client(t, s.Server)
	fan := workflow.New("fan")
	parts := make([]workflow.Ref[int], 1000)
	for i := range parts {
		parts[i] = workflow.Run(fan, fmt.Sprintf("part-%d", i), fetch, workflow.Value(i))
	}
	workflow.Do(fan, "total", sum, workflow.All(parts...))
	chain := workflow.New("chain")
	last := workflow.Do(chain, "n0", note, workflow.Value("x"))
	for i := range 399 {
		last = workflow.Do(chain, fmt.Sprintf("n%d", i+1), note, workflow.Value("x"), workflow.After(last))
	}
	first, second := must(fan.Enqueue(t.Context(), c)), must(chain.Enqueue(t.Context(), c))
	out := e.ok(t, "runs", "show", first.ID().String())
	if n := strings.Count(out, "\n"); n != 5 || !strings.Contains(out, "part-0 … part-999  ○ 1,000 blocked  fetch") {
		t.Errorf("%d lines:\n%s", n, out)
	}
	out = e.ok(t, "runs", "show", second.ID().String())
	if n := strings.Count(out, "\n"); n != linesShown+4 || !strings.Contains(out, "… and 100 more steps (--full):  ○ 100 blocked") {
		t.Errorf("%d lines:\n%s", n, out)
	}
	if out = e.ok(t, "runs", "show", "--full", second.ID().String()); strings.Count(out, "\n") != 403 {
		t.Errorf("%s", out)
	}
	if out := e.ok(t, "runs", "show", first.ID().String(), "--mermaid"); strings.Count(out, "-->") != 1 {
		t.Errorf("%s", out)
	}
}

func TestRunsList(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := flows(t, s)
		e.fails(t, ExitUsage, "Did you mean failed?", "runs", "list", "--state", "faild")
		e.fails(t, ExitUsage, "state of steps", "runs", "list", "--state", "snoozed")
		e.fails(t, ExitUsage, "not a workflow's name", "runs", "list", "--name", "a b")
		e.fails(t, ExitUsage, "must not be negative", "runs", "list", "--limit", "-1")
		e.fails(t, ExitUsage, "exclude each other", "runs", "show", "1", "--dot", "--mermaid")
		e.fails(t, ExitUsage, "runs list --state running", "steps", "list", "--state", "blocked")
		var ids []string
		line := []string{"runs", "list", "--json", "--limit", "2"}
		for args := line; ; {
			r := e.run(t, args...)
			for _, run := range readLines[runSummary](t, r.out) {
				ids = append(ids, run.RunID.String())
			}
			if r.err == "" {
				break
			}
			args = append(line[:len(line):len(line)], "--cursor", read[moreSteps](t, r.err).Cursor)
		}
		if len(ids) != 5 {
			t.Errorf("%v", ids)
		}
	})
}

// No text of a stranger breaks out of the string that a drawing puts it in.
func TestExportsEscape(t *testing.T) {
	t.Parallel()
	const poison = "a\"]; click n0 \"javascript:x\" <b> \\ \n\x1b[2J #x"
	if got := mermaidText(poison); regexp.MustCompile(`["<>\\\n\x1b]`).MatchString(got) {
		t.Errorf("%q", got)
	}
	if got := dotText(poison, "b"); got != `"a\"]; click n0 \"javascript:x\" <b> \\ \\n\\x1b[2J #x\nb"` {
		t.Errorf("%q", got)
	}
}
