package cyclonetest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	mail := cyclone.DeclareAction[string]("mail")
	pay := cyclone.NewAction("pay", func(ctx cyclone.Context, cents int64) error {
		tx := ctx.CompletionTx()
		return errors.Join(
			tx.Signal(7, "paid", cents), tx.Enqueue(mail.With("ada@example.com")),
			tx.IncrBy(tx.Key("balance"), -cents), tx.Set("greeted", "yes", time.Hour), tx.HashSet("h", "f", "v"),
			tx.SetAdd("s", "a", "b"), tx.ListPush("l", "x"), tx.Delete("old"), letters(mail).EnqueueTx(tx),
		)
	})
	ctx := cyclonetest.NewContext(t)
	for range 2 { // each call is an attempt of its own
		if err := cyclonetest.CallAction(ctx, pay, 500); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"IncrBy cyclone:{0}:tx:balance -500", "Set greeted yes 1h0m0s", "HashSet h f v", "SetAdd s a b", "ListPush l x", "Delete old",
		"Enqueue mail", "EnqueueTx letters", "Signal 7 paid",
	}
	if diff := cmp.Diff(want, cyclonetest.Completion(t, ctx)); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ada@example.com", "bob@example.com"}, cyclonetest.CompletionEnqueued(t, ctx, mail)); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	if got := cyclonetest.CompletionEnqueued(t, ctx, pay); got != nil {
		t.Errorf("of another kind: %v", got)
	}
}

// letters is a workflow that sends one mail after the other.
func letters(mail *cyclone.Action[string]) *workflow.Builder {
	b := workflow.New("letters")
	workflow.Do(b, "second", mail, workflow.Value("eve@example.com"), workflow.After(workflow.Do(b, "first", mail, workflow.Value("bob@example.com"))))
	return b
}

func TestCompletionWithABadWorkflow(t *testing.T) {
	t.Parallel()
	send := cyclone.DeclareAction[func()]("send")
	bad := cyclone.NewAction("bad", func(ctx cyclone.Context, _ int) error {
		b := workflow.New("letters")
		workflow.Do(b, "first", send, workflow.Value(func() {}))
		return b.EnqueueTx(ctx.CompletionTx())
	})
	var mistake *workflow.BuilderError
	if err := cyclonetest.CallAction(cyclonetest.NewContext(t), bad, 1); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "node first: input") {
		t.Errorf("got %v", err)
	}
}

func TestCompletionOfASuspendedAttemptIsDropped(t *testing.T) {
	t.Parallel()
	task := cyclone.NewTask("wait", cyclone.HandlerFunc(func(ctx cyclone.Context, _ int) (int, error) {
		if err := ctx.CompletionTx().IncrBy("n", 1); err != nil {
			return 0, err
		}
		return 1, step.Sleep(ctx, "sleep", time.Hour)
	}))
	ctx := cyclonetest.NewContext(t)
	if _, err := cyclonetest.CallTask(ctx, task, 1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"IncrBy n 1"}, cyclonetest.Completion(t, ctx)); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
}

func TestCompletionWithAFault(t *testing.T) {
	t.Parallel()
	bad := cyclone.NewAction("bad", func(ctx cyclone.Context, _ int) error {
		_ = ctx.CompletionTx().Delete("cyclone:{0}:steps")
		return nil
	})
	ctx := cyclonetest.NewContext(t)
	if err := cyclonetest.CallAction(ctx, bad, 1); err == nil || !strings.Contains(err.Error(), "it belongs to Cyclone") {
		t.Errorf("error %v", err)
	}
	if got := failureOf(t, func(t testing.TB) { cyclonetest.Completion(t, ctx) }); !strings.Contains(got, "cannot complete") {
		t.Errorf("failed with %q", got)
	}
	if got := failureOf(t, func(t testing.TB) { cyclonetest.Completion(t, t.Context()) }); !strings.Contains(got, "not that of NewContext") {
		t.Errorf("outside an attempt: failed with %q", got)
	}
}
