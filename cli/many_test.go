package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// An operation on many steps that is interrupted says where it goes on, and goes
// on there.
func TestManyIsResumable(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		const n = 450
		c := client(t, s)
		requests := make([]cyclone.Request, n)
		for i := range requests {
			requests[i] = sendEmail.With("x")
		}
		must(cyclone.EnqueueMany(t.Context(), c, requests...))
		e := on(s)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var out bytes.Buffer
		progress := &trigger{on: "looked at", do: func() { cancel(errInterrupted) }}
		p := newProgram(Streams{Out: &out, Err: progress, LookupEnv: e.lookup})
		p.now = hurried()
		err := p.run(ctx, []string{"cancel", "--queue", "mail", "--yes"})
		if codeOf(err) != ExitInterrupted {
			t.Fatalf("%v\n%s", err, progress.text.String())
		}
		_, cursor, ok := strings.Cut(progress.text.String(), "--cursor ")
		if cursor, _, _ = strings.Cut(cursor, " "); !ok || cursor == "" {
			t.Fatalf("no cursor in %s", progress.text.String())
		}
		for _, says := range []string{"450 steps match", "cancelled 100 of about 450", "so far"} {
			if !strings.Contains(progress.text.String(), says) {
				t.Errorf("%q is missing in %s", says, progress.text.String())
			}
		}
		before := must(c.Queues(t.Context()))[0].Counts
		if k := before[cyclone.StepCancelled]; k == 0 || k == n {
			t.Fatalf("%d were cancelled before the interrupt", k)
		}
		rest := read[manyResult](t, e.ok(t, "cancel", "--queue", "mail", "--yes", "--json", "--cursor", cursor))
		if int64(rest.Done)+before[cyclone.StepCancelled] != n {
			t.Errorf("%d and then %+v", before[cyclone.StepCancelled], rest)
		}
	})
}

// trigger does something when a text is written.
type trigger struct {
	text bytes.Buffer
	on   string
	do   func()
}

func (w *trigger) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.on)) {
		w.do()
	}
	return w.text.Write(b)
}

// hurried is a clock on which minutes pass, so that progress is never too early.
func hurried() func() time.Time {
	now := time.Now()
	return func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
}

// What destroys counts first and wants to be told so.
func TestDestructiveNeedsYes(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		before := e.ok(t, "queues", "--json")
		for _, c := range []struct{ line, says string }{
			{"purge mail", "3 steps of queue mail will be deleted: 1 ready, 1 scheduled, 1 retrying."},
			{"delete 3", "Run 3, which is failed, will be deleted."},
			{"delete 3 4", "2 runs will be deleted."},
			{"delete --state discarded", "2 steps match: discarded steps."},
			{"delete --queue mail", "7 steps match: steps in queue mail."},
			{"cancel --queue mail", "3 steps match"},
			{"cancel --kind send_email --since 1d", "3 steps match: steps of kind send_email since"},
		} {
			r := e.fails(t, ExitRefused, c.says, strings.Fields(c.line)...)
			if !strings.Contains(r.err, "--yes") || r.out != "" {
				t.Errorf("%s: %s%s", c.line, r.out, r.err)
			}
			r = e.fails(t, ExitRefused, `"code":"refused"`, append(strings.Fields(c.line), "--json")...)
			if r.out != "" {
				t.Errorf("%s --json: %s", c.line, r.out)
			}
		}
		if after := e.ok(t, "queues", "--json"); steady(after) != steady(before) {
			t.Errorf("something has changed:\n%s%s", before, after)
		}
	})
}

func TestCancelAndDelete(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		if out := e.ok(t, "cancel", "6", "8"); out != "cancelled run 6\ncancelled run 8\n" {
			t.Errorf("%q", out)
		}
		e.ok(t, "cancel", "6") // cancelled is cancelled
		e.fails(t, ExitRefused, "ended", "cancel", "1")
		e.fails(t, ExitNotFound, "not found", "cancel", "77")
		e.fails(t, ExitUsage, "which steps?", "cancel")
		e.fails(t, ExitUsage, "exclude each other", "cancel", "1", "--queue", "mail")
		e.fails(t, ExitUsage, "has ended", "cancel", "--state", "completed")
		if got := read[manyResult](t, e.ok(t, "cancel", "--queue", "mail", "--yes", "--json")); got.Done != 1 {
			t.Errorf("cancel the rest: %+v", got)
		}
		if got := read[single](t, e.ok(t, "delete", "3", "--yes", "--json")); got.RunID != 3 || got.Operation != "delete" {
			t.Errorf("delete: %+v", got)
		}
		e.fails(t, ExitNotFound, "not found", "steps", "show", "3")
		e.fails(t, ExitNotFound, "not found", "delete", "3", "-y")
		if out := e.ok(t, "delete", "--queue", "mail", "--yes"); !strings.HasPrefix(out, "deleted ") {
			t.Errorf("%q", out)
		}
		if out := e.ok(t, "delete", "--queue", "imports", "--yes"); out != "deleted 1 step\n" {
			t.Errorf("%q", out)
		}
		if out := e.ok(t, "steps", "list", "--limit", "0"); out != "" {
			t.Errorf("left: %s", out)
		}
	})
}

func TestPurge(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		if got := read[purgeResult](t, e.ok(t, "purge", "mail", "--yes", "--json")); got.Done != 3 || got.Queue != "mail" {
			t.Errorf("%+v", got)
		}
		if out := e.ok(t, "purge", "mail", "-y"); out != "deleted 0 steps of mail\n" {
			t.Errorf("%q", out)
		}
		e.fails(t, ExitNotFound, "Did you mean mail?", "purge", "mali")
		e.fails(t, ExitUsage, "not a queue's name", "purge", "a:b")
		e.fails(t, ExitUsage, "argument is missing", "purge")
		counts := read[queueView](t, e.ok(t, "queues", "mail", "--json")).Counts
		if counts[cyclone.StepCompleted] != 2 || counts[cyclone.StepReady] != 0 || counts[cyclone.StepRetrying] != 0 {
			t.Errorf("%v", counts)
		}
	})
}
