package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// A worker that runs a step is seen with it.
func TestWorkers(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := on(s)
		started, release := make(chan struct{}), make(chan struct{})
		slow := cyclone.NewAction("slow", func(context.Context, string) error {
			close(started)
			<-release
			return nil
		}, cyclone.WithQueue("slow"))
		c := client(t, s)
		run := must(cyclone.EnqueueAction(t.Context(), c, slow, "x"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			work(t, c, after(1, cyclone.EventCompleted), slow)
		}()
		<-started
		var w workerView
		await(t, func() bool { // until its next heartbeat
			all := readLines[workerView](t, e.ok(t, "workers", "--json"))
			if len(all) == 1 && all[0].Busy == 1 {
				w = all[0]
			}
			return w.ID != ""
		})
		if len(w.Running) != 1 || w.Running[0].RunID != run.ID() || w.Running[0].Kind != "slow" || w.Running[0].Attempt != 1 || w.Silent || w.PID == 0 {
			t.Errorf("%+v", w)
		}
		text := e.ok(t, "workers")
		for _, says := range []string{w.ID, "1 of 1 ", "mail, imports, slow", "slow", run.ID().String()} {
			if !strings.Contains(text, says) {
				t.Errorf("%q is missing in\n%s", says, text)
			}
		}
		if d := read[stepDetail](t, e.ok(t, "steps", "show", run.ID().String(), "--json")); d.State != cyclone.StepRunning || d.Worker != w.ID {
			t.Errorf("%+v", d)
		}
		close(release)
		<-done
	})
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		d := read[diagnosis](t, e.ok(t, "doctor", "--json"))
		if !d.OK || d.Audit == nil || d.Audit.Steps != 8 || len(d.Audit.Findings) != 0 || len(d.Servers) != 1 || d.Prefix != s.Prefix || d.Partitions != 1 {
			t.Errorf("%+v", d)
		}
		if d := read[diagnosis](t, e.ok(t, "doctor", "--json", "--no-audit")); d.Audit != nil || len(d.Checks) == 0 {
			t.Errorf("%+v", d)
		}
		// A body that is gone, and one that nothing leads to.
		steps := s.Prefix + ":{0}:steps"
		if err := errors.Join(s.Client.HDel(t.Context(), steps, "3").Err(), s.Client.HSet(t.Context(), steps, "4000\x1b[2J", "x").Err()); err != nil {
			t.Fatal(err)
		}
		r := e.run(t, "doctor")
		if r.code != ExitFindings || !strings.Contains(r.out, "findings in") || strings.Contains(r.out, "\x1b") {
			t.Errorf("%+v", r)
		}
		r = e.run(t, "doctor", "--json")
		if d := read[diagnosis](t, r.out); r.code != ExitFindings || d.OK || len(d.Audit.Findings) < 2 {
			t.Errorf("%+v", r)
		}
	})
}

// What is wrong with a server's set-up is an error, what is risky a warning.
func TestDoctorOnSetUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		code  int // without and with --strict
		codeS int
		check string
		level level
	}{
		{"evicts", []string{"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"}, ExitFindings, ExitFindings, "eviction", levelBad},
		{"not persistent", nil, ExitOK, ExitFindings, "persistence", levelWarn},
		{"snapshots", []string{"--save", "900 1"}, ExitOK, ExitFindings, "persistence", levelWarn},
		{"unknown", []string{"--rename-command", "CONFIG", ""}, ExitOK, ExitOK, "access", levelNote},
		{"good", []string{"--appendonly", "yes", "--maxmemory", "64mb"}, ExitOK, ExitOK, "persistence", levelGood},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := testserver.Real(t, c.args...)
			e := on(s.Server)
			r := e.run(t, "doctor", "--json")
			d := read[diagnosis](t, r.out)
			at := slices.IndexFunc(d.Checks, func(ch check) bool { return ch.Name == c.check })
			if r.code != c.code || at < 0 || d.Checks[at].Level != c.level {
				t.Errorf("exit %d, %+v", r.code, d.Checks)
			}
			if r := e.run(t, "doctor", "--strict"); r.code != c.codeS {
				t.Errorf("--strict: exit %d\n%s", r.code, r.out)
			}
		})
	}
}

// Whatever strangers have stored, no command prints what a terminal would obey.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const poison = "\x1b[2J\x1b]52;c;aGk=\a\x9b31m\r\u202egnp\u2066\u200b\u2028\U000e0041\x7f"
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := on(s)
		c := client(t, s)
		fail := cyclone.NewAction("fail", func(context.Context, string) error {
			return cyclone.Permanent(errors.New(poison))
		}, cyclone.WithQueue("mail"))
		panics := cyclone.NewAction("panics", func(context.Context, string) error { panic(poison) }, cyclone.WithQueue("mail"))
		echo := cyclone.NewStep("echo", func(_ context.Context, in string) (string, error) { return in, nil }, cyclone.WithQueue("mail"))
		must(cyclone.EnqueueMany(t.Context(), c,
			fail.With(poison, cyclone.WithMeta("k", strings.ToValidUTF8(poison, ""))),
			panics.With(poison, cyclone.WithMaxAttempts(1)), echo.With(poison)))
		work(t, c, after(3, cyclone.EventFailed, cyclone.EventDiscarded, cyclone.EventCompleted), fail, panics, echo)
		if err := c.Retry(t.Context(), 1, "fail", cyclone.RetryReason(poison)); err != nil {
			t.Fatal(err)
		}
		if err := s.Client.HSet(t.Context(), s.Prefix+":{0}:workers", poison, fmt.Sprintf(`%d {"host":%q,"queues":[%[2]q]}`, 1, poison)).Err(); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"queues", "steps list", "steps show 1", "steps show 2", "steps show 3", "runs show 1", "runs show 2", "runs list", "runs show 1 --dot", "runs show 2 --mermaid", "workers", "stats", "doctor",
			"steps list --error " + poison, "steps show " + poison, "retry 2 " + poison, "pause " + poison, "purge " + poison, poison, "signal 1 " + poison, "signal " + poison + " x", "cancel 1 " + poison, "runs list --name " + poison, "runs list --state " + poison, "runs list --cursor " + poison,
			"retry --" + poison, "enqueue " + poison, "steps list --state " + poison, "steps list --since " + poison, "acl " + poison,
			"queues --prefix " + poison, "queues --redis " + poison, "cancel --kind " + poison, "steps list --cursor " + poison,
		} {
			for _, more := range [][]string{nil, {"--json"}} {
				args := append(strings.Split(line, " "), more...)
				r := e.run(t, args...)
				for _, text := range []string{r.out, r.err} {
					if at := strings.IndexFunc(text, dangerous); at >= 0 {
						t.Errorf("%q prints %q", args, text[at:])
					}
				}
			}
		}
		if out := e.ok(t, "steps", "show", "2"); !strings.Contains(out, "look_test.go") {
			t.Errorf("the stack of a panic is missing:\n%s", out)
		}
	})
}

func dangerous(r rune) bool {
	return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// What happens is printed as it happens, and only what is asked for.
func TestEvents(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := on(s)
		c := client(t, s)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var out bytes.Buffer
		listening := make(chan struct{})
		notes := &trigger{on: "Listening", do: func() { close(listening) }}
		last := &trigger{on: "completed", do: func() { cancel(errInterrupted) }}
		code := make(chan int)
		go func() {
			code <- Run(ctx, Streams{Out: io.MultiWriter(&out, last), Err: notes, LookupEnv: e.lookup}, "events", "--kind", "measure", "--type", "claimed", "--type", "completed")
		}()
		<-listening
		must(cyclone.EnqueueMany(t.Context(), c, sendEmail.With("x"), measure.With("y")))
		work(t, c, after(2, cyclone.EventCompleted), sendEmail, measure)
		if got := <-code; got != ExitOK {
			t.Errorf("exit %d: %s", got, notes.text.String())
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "claimed     measure 2") || !strings.Contains(lines[1], "→ completed · attempt 1 · mail") {
			t.Errorf("%q", lines)
		}
		if out := e.ok(t, "events", "--for", "1ns", "--json"); out != "" {
			t.Errorf("%q", out)
		}
		e.fails(t, ExitUsage, "not a type", "events", "--type", "snooze")
		e.fails(t, ExitUsage, "not a run id", "events", "--run", "x")
	})
}

// Colours are for terminals, and only where they are wanted.
func TestColours(t *testing.T) {
	t.Parallel()
	s := testserver.Real(t)
	e := scene(t, s.Server)
	for _, c := range []struct {
		args string
		env  env
		want bool
	}{
		{"queues", e, false},
		{"queues --color always", e, true},
		{"queues --color always", e.with("NO_COLOR", "1"), true}, // said on the command line
		{"queues --color never", e, false},
		{"queues --color always --json", e, false},
	} {
		if out := c.env.ok(t, strings.Fields(c.args)...); strings.Contains(out, "\x1b[") != c.want {
			t.Errorf("%s: %q", c.args, out)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if out := (env{}).ok(t, "version"); !strings.HasPrefix(out, "cyclone ") {
		t.Error(out)
	}
	if b := read[build](t, env{}.ok(t, "version", "--json")); b.Version == "" || b.Go == "" {
		t.Errorf("%+v", b)
	}
}
