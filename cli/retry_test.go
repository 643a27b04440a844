package cli

import (
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
)

// C21: `cyclone retry 12345 send_email` and `cyclone retry 12345 --all` do what
// client.Retry and client.RetryAll do.
func TestSpec_C21_RetryFromAShell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		shell []string
		call  func(*testing.T, *queue.Client, cyclone.RunID) error
	}{
		{"node", []string{"send_email"}, func(t *testing.T, c *queue.Client, id cyclone.RunID) error {
			return c.Retry(t.Context(), id, "send_email")
		}},
		{"all", []string{"--all"}, func(t *testing.T, c *queue.Client, id cyclone.RunID) error {
			return c.RetryAll(t.Context(), id)
		}},
		{"node with options", []string{"send_email", "--attempts", "3", "--reason", "SMTP is back"}, func(t *testing.T, c *queue.Client, id cyclone.RunID) error {
			return c.Retry(t.Context(), id, "send_email", cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("SMTP is back"))
		}},
		{"all with options", []string{"--all", "--attempts=3", "--reason=SMTP is back"}, func(t *testing.T, c *queue.Client, id cyclone.RunID) error {
			return c.RetryAll(t.Context(), id, cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("SMTP is back"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testserver.Each(t, func(t *testing.T, s testserver.Server) {
				e := scene(t, s)
				lib := client(t, s)
				before := must(lib.Step(t.Context(), runDiscarded, "send_email"))
				e.ok(t, append([]string{"retry", runDiscarded.String()}, c.shell...)...)
				shell := must(lib.Step(t.Context(), runDiscarded, "send_email"))
				if before.State != cyclone.StepExhausted || shell.State != cyclone.StepReady {
					t.Fatalf("%s → %s", before.State, shell.State)
				}
				e.ok(t, "cancel", runDiscarded.String()) // the queue is paused: it is still ready
				if err := c.call(t, lib, runDiscarded); err != nil {
					t.Fatal(err)
				}
				library := must(lib.Step(t.Context(), runDiscarded, "send_email"))
				a, b := lastRetry(t, shell), lastRetry(t, library)
				if shell.MaxAttempts != library.MaxAttempts || a.Reason != b.Reason || a.Additional != b.Additional || library.State != shell.State {
					t.Errorf("shell %+v %+v\nlibrary %+v %+v", shell.StepInfo, a, library.StepInfo, b)
				}
			})
		})
	}
}

func lastRetry(t *testing.T, d queue.StepDetail) (last queue.HistoryEntry) {
	t.Helper()
	for _, h := range d.History {
		if h.Type == cyclone.EventRetried {
			last = h
		}
	}
	if last.At.IsZero() {
		t.Fatalf("no retry in the history of %v: %+v", d.RunID, d.History)
	}
	return last
}

func TestRetryRefuses(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		for _, c := range []struct {
			line string
			code int
			says string
		}{
			{"retry", ExitUsage, "which steps?"},
			{"retry 3", ExitUsage, "cyclone retry 3 NODE"},
			{"retry --all", ExitUsage, "needs a run"},
			{"retry 3 send_email --all", ExitUsage, "exclude each other"},
			{"retry 3 --state discarded", ExitUsage, "exclude each other"},
			{"retry 3 send_email extra", ExitUsage, `"extra" is too much`},
			{"retry x send_email", ExitUsage, "not a run id"},
			{"retry 3 send_email --attempts 0", ExitUsage, "at least 1"},
			{"retry 3 send_email --attempts x", ExitUsage, "attempts"},
			{"retry --state ready", ExitUsage, "run-now"},
			{"retry --state discareded", ExitUsage, "Did you mean discarded?"},
			{"retry --since never", ExitUsage, "not a time"},
			{"retry --since 1h --until 2h", ExitUsage, "nothing can match"},
			{"retry 99999 send_email", ExitNotFound, "not found"},
			{"retry 3 send_mail", ExitNotFound, "Did you mean send_email?"},
			{"retry 1 send_email", ExitRefused, "not discarded"},
			{"retry 8 --all", ExitRefused, "not discarded"},
		} {
			e.fails(t, c.code, c.says, strings.Fields(c.line)...)
		}
	})
}

func TestRetryByFilter(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		dry := read[manyResult](t, e.ok(t, "retry", "--state", "discarded", "--dry-run", "--json"))
		if dry.Matched != 2 || !dry.DryRun || dry.Done != 0 {
			t.Errorf("dry run: %+v", dry)
		}
		for _, c := range []struct {
			flags string
			done  int
		}{
			{"--kind nothing", 0},
			{"--error nothing", 0},
			{"--until 1h", 0},
			{"--queue nothing", 0},
			{"--kind send_email --error 550 --since 1h --queue mail", 1},
			{"--kind send_email", 0}, // it is open again
			{"--error permanent", 1}, // the code of the other one
			{"--state cancelled", 1},
		} {
			got := read[manyResult](t, e.ok(t, append([]string{"retry", "--json", "--reason", "fixed"}, strings.Fields(c.flags)...)...))
			if got.Done != c.done || got.Matched != c.done || got.Operation != "retry" {
				t.Errorf("%s: %+v, want %d done", c.flags, got, c.done)
			}
		}
		d := must(client(t, s).Step(t.Context(), runHostile, "import_row"))
		if got := lastRetry(t, d); got.Reason != "fixed" {
			t.Errorf("reason %q", got.Reason)
		}
		if out := e.ok(t, "retry", "--state", "discarded"); out != "retried 0 steps\n" {
			t.Errorf("%q", out)
		}
	})
}
