package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		paused := func() bool { return read[queueView](t, e.ok(t, "queues", "imports", "--json")).Paused }
		e.ok(t, "pause", "imports")
		e.ok(t, "pause", "imports")
		if !paused() {
			t.Error("not paused")
		}
		if got := read[single](t, e.ok(t, "resume", "imports", "--json")); got.Queue != "imports" || got.Operation != "resume" {
			t.Errorf("%+v", got)
		}
		if paused() {
			t.Error("still paused")
		}
		for _, command := range []string{"pause", "resume", "drain", "purge"} {
			e.fails(t, ExitUsage, "not a queue's name", command, "\x1b[2J")
			e.fails(t, ExitUsage, "is missing", command)
			e.fails(t, ExitUsage, "too much", command, "a", "b")
		}
	})
}

func TestRescheduleAndRunNow(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		c := client(t, s)
		due := func() time.Time { return must(c.Step(t.Context(), runScheduled, "send_email")).DueAt }
		e.ok(t, "reschedule", "6", "--at", "2140-01-02T03:04:05Z")
		if got := due(); !got.Equal(time.Date(2140, 1, 2, 3, 4, 5, 0, time.UTC)) {
			t.Errorf("due %v", got)
		}
		e.ok(t, "reschedule", "6", "--in", "2d")
		if got := time.Until(due()); got < 47*time.Hour || got > 49*time.Hour {
			t.Errorf("due in %v", got)
		}
		e.fails(t, ExitUsage, "either --in or --at", "reschedule", "6")
		e.fails(t, ExitUsage, "either --in or --at", "reschedule", "6", "--in", "1h", "--at", "2030-01-01")
		e.fails(t, ExitUsage, "not a duration", "reschedule", "6", "--in", "soon")
		e.fails(t, ExitUsage, "not a time", "reschedule", "6", "--at", "9999-01-01")
		e.fails(t, ExitRefused, "ended", "reschedule", "3", "--in", "1h")
		e.fails(t, ExitRefused, "does not wait", "reschedule", "8", "--in", "1h")
		e.fails(t, ExitNotFound, "not found", "reschedule", "99", "--in", "1h")
		if out := e.ok(t, "run-now", "6"); out != "run 6 is ready\n" {
			t.Errorf("%q", out)
		}
		e.ok(t, "run-now", "2")
		e.ok(t, "run-now", "2") // ready is ready
		e.fails(t, ExitRefused, "ended", "run-now", "1")
		e.fails(t, ExitUsage, "not a run id", "run-now", "1x")
		if counts := read[queueView](t, e.ok(t, "queues", "mail", "--json")).Counts; counts[cyclone.StepReady] != 3 {
			t.Errorf("%v", counts)
		}
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		if out := e.ok(t, "drain", "imports"); out != "imports is empty\n" {
			t.Errorf("%q", out)
		}
		e.fails(t, ExitNotFound, "no queue", "drain", "nothing")
		r := e.fails(t, ExitRefused, "not empty after", "drain", "mail", "--timeout", "50ms")
		if !strings.Contains(r.err, "is paused") {
			t.Errorf("%s", r.err)
		}
		c := client(t, s)
		must(cyclone.EnqueueAction(t.Context(), c, importRow, 8))
		done := make(chan result, 1)
		go func() { done <- e.run(t, "drain", "imports", "--json") }()
		work(t, c, after(1, cyclone.EventDiscarded, cyclone.EventFailed), importRow)
		if r := <-done; r.code != ExitOK || read[single](t, r.out).Queue != "imports" {
			t.Errorf("%+v", r)
		}
	})
}

func TestEnqueue(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := on(s)
		c := client(t, s)
		file := filepath.Join(t.TempDir(), "input.json")
		if err := os.WriteFile(file, []byte(`"from a file"`), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, in := range []struct {
			args  []string
			stdin string
			want  string
		}{
			{[]string{"--json", `"ada"`}, "", `"ada"`},
			{[]string{"--json=-"}, `"from stdin"`, `"from stdin"`},
			{[]string{"--json", "@" + file}, "", `"from a file"`},
			{nil, "", "null"},
		} {
			r := e.runWith(t.Context(), strings.NewReader(in.stdin), append([]string{"enqueue", "send_email", "--queue", "mail"}, in.args...)...)
			id, err := cyclone.ParseRunID(strings.TrimSpace(r.out))
			if r.code != ExitOK || err != nil {
				t.Fatalf("%v: %+v", in.args, r)
			}
			d := must(c.Step(t.Context(), id, "send_email"))
			if string(d.Input.JSON) != in.want || d.State != cyclone.StepReady || d.Queue != "mail" {
				t.Errorf("%v: %s %+v", in.args, d.Input.JSON, d.StepInfo)
			}
		}
		got := read[enqueued](t, e.ok(t, "--json", "enqueue", "send_email", "--json", `"x"`, "--queue=mail", "--priority", "high", "--in", "1d", "--max-attempts", "7",
			"--meta", "a=1,2", "--meta", "b=x=y", "--unique-key", "k", "--timeout", "30s", "--retention", "2h"))
		d := must(c.Step(t.Context(), got.RunID, "send_email"))
		if d.State != cyclone.StepScheduled || d.MaxAttempts != 7 || d.Priority != cyclone.High || d.Meta["a"] != "1,2" || d.Meta["b"] != "x=y" {
			t.Errorf("%+v", d)
		}
		again := read[enqueued](t, e.ok(t, "--json", "enqueue", "send_email", "--json", `"x"`, "--queue=mail", "--unique-key", "k"))
		if again.RunID != got.RunID || !again.Existing || got.Existing {
			t.Errorf("%+v, then %+v", got, again)
		}
		first, second := e.ok(t, "enqueue", "send_email", "--request-key", "r"), e.ok(t, "enqueue", "send_email", "--request-key", "r")
		if first != second {
			t.Errorf("%s, then %s", first, second)
		}
	})
}

func TestEnqueueRefuses(t *testing.T) {
	t.Parallel()
	e := env{"CYCLONE_REDIS": "redis://127.0.0.1:1"} // it is not asked
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{}, "argument is missing"},
		{[]string{"bad kind"}, "kind"},
		{[]string{"k", "--json", "{"}, "not valid JSON"},
		{[]string{"k", "--json", "@/does/not/exist"}, "no such file"},
		{[]string{"k", "--queue", "a b"}, "queue"},
		{[]string{"k", "--priority", "urgent"}, "not a priority"},
		{[]string{"k", "--in", "1h", "--at", "2030-01-01"}, "either --in or --at"},
		{[]string{"k", "--max-attempts", "0"}, "attempts"},
		{[]string{"k", "--meta", "novalue"}, "has no ="},
		{[]string{"k", "--expires-in", "x"}, "not a duration"},
		{[]string{"k", "--timeout", "soon"}, "timeout"},
	} {
		e.fails(t, ExitUsage, c.says, append([]string{"enqueue"}, c.args...)...)
	}
}

// A run that one waits for ends with its fate as the exit code.
func TestEnqueueAndWait(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := on(s)
		results := make(chan result, 2)
		for _, to := range []string{`"ada"`, `"never"`} {
			go func() {
				results <- e.runWith(context.WithoutCancel(t.Context()), nil, "--json", "enqueue", "send_email", "--queue", "mail", "--json", to, "--wait")
			}()
		}
		work(t, client(t, s), after(2, cyclone.EventCompleted, cyclone.EventDiscarded, cyclone.EventFailed), sendEmail)
		codes := map[int]result{}
		for range 2 {
			r := <-results
			codes[r.code] = r
		}
		if read[enqueued](t, codes[ExitOK].out).State != cyclone.RunCompleted {
			t.Errorf("%+v", codes)
		}
		if !strings.Contains(codes[ExitRefused].err, "550 no such user") {
			t.Errorf("%+v", codes)
		}
	})
}
