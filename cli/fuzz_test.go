package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// No line makes arrange panic; what comes out has its flags in front, loses
// nothing, and is the same when it is arranged again.
func FuzzArrange(f *testing.F) {
	for _, line := range []string{
		"retry\x0012345\x00--all", "steps\x00list\x00--queue\x00a\x00--json", "--json\x00enqueue\x00k\x00--json\x00{}",
		"retry\x00--\x00--all", "purge\x00-y\x00--yes=false\x00q", "-\x00--\x00-", "steps\x00--help", "demo\x00worker",
	} {
		f.Add(line)
	}
	app := newProgram(Streams{}).app()
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		a, err := arrange(app, words)
		if err != nil {
			if codeOf(err) != ExitUsage {
				t.Fatalf("%q: %v", words, err)
			}
			return
		}
		for _, flag := range slices.Concat(a.global, a.own) {
			if !strings.HasPrefix(flag, "--") {
				t.Fatalf("%q: flag %q", words, flag)
			}
		}
		for _, arg := range slices.Concat(a.path, a.args) {
			if !slices.Contains(words, arg) && findCommand(app.Commands, arg) == nil {
				t.Fatalf("%q: argument %q from nowhere", words, arg)
			}
		}
		out := a.line("")[1:]
		again, err := arrange(app, out)
		if err != nil {
			t.Fatalf("%q: again: %v", out, err)
		}
		if !slices.Equal(again.line("")[1:], out) {
			t.Fatalf("%q\n%q\n%q (%v)", words, out, again.line(""), err)
		}
	})
}

// Every text is either a filter or a usage error, and a filter that is understood
// agrees with itself.
func FuzzFilter(f *testing.F) {
	f.Add("mail", "discarded", "send_email", "timeout", "2h", "1h")
	f.Add("", "", "", "", "3d", "2026-02-03")
	f.Add("\x1b[2J", "discarded\x00", "\u202e", "\xff", "9999999999h", "-1h")
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, queueName, state, kind, text, since, until string) {
		p := newProgram(Streams{})
		p.now = func() time.Time { return now }
		var got queue.Filter
		var filterErr error
		app := p.app()
		list := findCommand(findCommand(app.Commands, "steps").Subcommands, "list")
		list.Action = capture(p, &got, &filterErr)
		a, err := arrange(app, []string{
			"steps", "list", "--queue=" + queueName, "--state", state, "--kind=" + kind, "--error", text, "--since", since, "--until=" + until,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := app.RunContext(t.Context(), a.line("cyclone")); err != nil {
			if codeOf(err) != ExitUsage {
				t.Fatalf("%v", err)
			}
			return
		}
		if filterErr != nil {
			if codeOf(filterErr) != ExitUsage {
				t.Fatal(filterErr)
			}
			return
		}
		if got.Queue != queueName || got.Kind != kind || got.ErrorContains != text || string(got.State) != state {
			t.Fatalf("%+v", got)
		}
		if !got.After.IsZero() && !got.Before.IsZero() && !got.After.Before(got.Before) {
			t.Fatalf("nothing can match: %+v", got)
		}
		if got.After.After(now.AddDate(200, 0, 0)) || !got.After.IsZero() && got.After.Before(now.AddDate(-200, 0, 0)) {
			t.Fatalf("--since %q is %v", since, got.After)
		}
		s := cyclone.StepInfo{Kind: kind, Error: "a " + text + " b", EnqueuedAt: got.After}
		if got.After.IsZero() {
			s.EnqueuedAt = got.Before.Add(-1)
		}
		if !matches(&got, s) {
			t.Fatalf("%+v does not match %+v", got, s)
		}
		_ = describe(&got)
	})
}
