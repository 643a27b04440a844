package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// The definitions of the scene. Errors hold what would drive a terminal.
var (
	sendEmail = cyclone.NewAction("send_email", func(ctx cyclone.Context, to string) error {
		switch to {
		case "later":
			return cyclone.RetryAfter(errors.New("451 greylisted"), time.Hour) // without jitter
		case "never":
			return cyclone.Permanent(errors.New("550 no such user"))
		}
		return nil
	}, cyclone.WithQueue("mail"), cyclone.WithRetention(time.Hour))

	importRow = cyclone.NewAction("import_row", func(_ context.Context, line int) error {
		return cyclone.Permanent(fmt.Errorf("line %d: bad \x1b]52;c;aGk=\a date\r\u202e", line))
	}, cyclone.WithQueue("imports"))

	measure = cyclone.NewStep("measure", func(_ context.Context, text string) (int, error) {
		return len(text), nil
	}, cyclone.WithQueue("mail"))
)

// The runs of the scene.
const (
	runCompleted cyclone.RunID = iota + 1
	runRetrying
	runDiscarded
	runHostile
	runOutput
	runScheduled
	runCancelled
	runReady
)

// scene makes a deployment with a step in every state that a client can bring
// about by itself, and a paused queue.
func scene(t testing.TB, s testserver.Server) env {
	t.Helper()
	c := client(t, s)
	ctx := t.Context()
	must(cyclone.EnqueueMany(ctx, c,
		sendEmail.With("ada@example.com", cyclone.WithMeta("trace", "t-1")),
		sendEmail.With("later", cyclone.WithMaxAttempts(3)),
		sendEmail.With("never"),
		importRow.With(7),
		measure.With("twelve bytes"),
		sendEmail.With("tomorrow", cyclone.WithDelay(24*time.Hour), cyclone.WithPriority(cyclone.High)),
		sendEmail.With("nobody", cyclone.WithDelay(time.Hour)),
	))
	work(t, c, after(5, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventDiscarded), sendEmail, importRow, measure)
	if err := errors.Join(c.Cancel(ctx, runCancelled), c.Pause(ctx, "mail")); err != nil {
		t.Fatal(err)
	}
	if run := must(cyclone.EnqueueAction(ctx, c, sendEmail, "waiting")); run.ID() != runReady {
		t.Fatalf("the last run is %v", run.ID())
	}
	return on(s)
}
