package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/demo"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// The demo needs nothing, ends by itself, and everything in it has happened.
func TestDemo(t *testing.T) {
	t.Parallel()
	began := time.Now()
	out := env{}.ok(t, "demo", "--for", "4s")
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, says := range []string{
		"Cyclone demo for 4s", "# A web shop", "partner.example is down", "partner.example is back", "was killed with kill -9", "A new worker process",
		"An operator retries", "The shop has closed", "so far", "failed    deliver_webhook", "snoozed   sync_contact", "discarded import_row",
		"retried   import_row", "after the operator's retry", "completed send_email", "waiting   approval", "finished  order",
		"What happened in", "Every step is accounted for", "found nothing out of place", "Try next", "demo --redis redis://",
	} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is missing", says)
		}
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "✗") || t.Failed() {
		t.Errorf("\n%s", out)
	}
}

// With --json it is events and one summary; on a real server it leaves what can
// be looked at.
func TestDemoOnRealServers(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		e := on(s.Server)
		out := strings.TrimSuffix(e.ok(t, "demo", "--real", "--for", "3s", "--json"), "\n")
		at := strings.LastIndex(out, "\n")
		seen := map[cyclone.EventType]int{}
		for _, ev := range readLines[event](t, out[:at]) {
			seen[ev.Type]++
		}
		sum := read[demo.Summary](t, out[at+1:])
		all := sum.Total
		if all.Enqueued == 0 || all.Enqueued != all.Completed+all.Discarded+all.Unfinished {
			t.Errorf("%+v", all)
		}
		if seen[cyclone.EventEnqueued] != all.Enqueued || seen[cyclone.EventCompleted] != all.Completed || seen[cyclone.EventSnoozed] != all.Snoozed {
			t.Errorf("events %v, summary %+v", seen, all)
		}
		if sum.Killed == nil || len(sum.Findings) > 0 || len(sum.Discarded) == 0 || all.Repaired == 0 {
			t.Errorf("%+v", sum)
		}
		id := sum.Discarded[0].RunID
		if d := read[stepDetail](t, e.ok(t, "steps", "show", id.String(), "--json")); d.State != cyclone.StepExhausted || d.Error != sum.Discarded[0].Error {
			t.Errorf("%+v", d)
		}
		e.ok(t, "doctor")
	})
}

func TestDemoIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out := &trigger{on: "A web shop", do: func() { cancel(errInterrupted) }}
	code := Run(ctx, Streams{In: strings.NewReader(""), Out: out, Err: out, LookupEnv: env{}.lookup}, "demo", "--for", "1m")
	if code != ExitInterrupted || !strings.Contains(out.text.String(), "What happened in") {
		t.Errorf("exit %d\n%s", code, out.text.String())
	}
}

func TestDemoRefuses(t *testing.T) {
	t.Parallel()
	e := env{"CYCLONE_REDIS": "redis://127.0.0.1:1"}
	e.fails(t, ExitUsage, "must be", "demo", "--for", "1s")
	e.fails(t, ExitUsage, "must be", "demo", "--for", "100h")
	e.fails(t, ExitUsage, "for", "demo", "--for", "soon")
	e.fails(t, ExitUsage, "no command", "demo", "extra")
	e.fails(t, ExitUsage, "starts this by itself", "demo", "worker")
	e.fails(t, ExitUnavailable, "Is Redis there", "demo", "--real", "--for", "2s")
}

// The development server serves until it is interrupted, on loopback and with a
// password.
func TestServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := make(chan string, 1)
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, Streams{Out: lineWriter(lines), Err: lineWriter(lines), LookupEnv: env{}.lookup}, "server", "--port", "0", "--json")
	}()
	s := read[listening](t, <-lines)
	if !strings.HasPrefix(s.Addr, "127.0.0.1:") || !s.Embedded {
		t.Errorf("%+v", s)
	}
	e := env{"CYCLONE_REDIS": s.URL}
	e.ok(t, "enqueue", "k")
	env{"CYCLONE_REDIS": "redis://" + s.Addr}.fails(t, ExitError, "password", "queues")
	env{}.fails(t, ExitError, "--port 0", "server", "--port", s.Addr[len("127.0.0.1:"):])
	env{}.fails(t, ExitUsage, "0 to 65535", "server", "--port", "70000")
	cancel()
	if code := <-done; code != ExitOK {
		t.Errorf("exit %d", code)
	}
}

// lineWriter passes on what is written.
type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

func TestServerSaysThatDataIsLost(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	code := Run(ctx, Streams{Out: &out, Err: &out, LookupEnv: env{}.lookup}, "server", "--port", "0", "--no-password")
	for _, says := range []string{"Data is lost on exit", "development only", "export CYCLONE_REDIS='redis://127.0.0.1:"} {
		if code != ExitOK || !strings.Contains(out.String(), says) {
			t.Errorf("exit %d, %q is missing in\n%s", code, says, out.String())
		}
	}
}
