package docs

// The tests that testing.md shows; they run.

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// Welcome and Register are the program under test.
var Welcome = cyclone.DeclareAction[Email]("welcome_mail")

func Register(ctx context.Context, client cyclone.Enqueuer, name, to string) error {
	_, err := cyclone.EnqueueAction(ctx, client, Welcome, Email{To: to, Subject: "Welcome, " + name})
	return err
}

// Flaky always fails.
var Flaky = cyclone.NewAction("flaky", func(cyclone.Context, string) error { return errors.New("mailbox full") })

// Subscribe asks whether the address is right, and sends the first letter after a month.
var Subscribe = cyclone.NewTask("subscribe", cyclone.HandlerFunc(func(ctx cyclone.Context, to string) (string, error) {
	sent := func(context.Context) (string, error) { return to, nil }
	if _, err := step.Do(ctx, "ask", sent); err != nil {
		return "", err
	}
	if _, err := step.WaitSignal[string](ctx, "confirmed", 72*time.Hour); err != nil {
		return "", err
	}
	if err := step.Sleep(ctx, "month", 30*24*time.Hour); err != nil {
		return "", err
	}
	_, err := step.Do(ctx, "first-letter", sent)
	return "subscribed", err
}))

// PayApproved pays what somebody has approved.
var PayApproved = cyclone.NewAction("pay_approved", func(_ cyclone.Context, in Approval) error {
	if in.By == "" {
		return errors.New("nobody has approved it")
	}
	return nil
})

func TestRegisterEnqueues(t *testing.T) {
	client := cyclonetest.NewClient(t)
	if err := Register(t.Context(), client, "Ada", "ada@example.com"); err != nil {
		t.Fatal(err)
	}
	if got := cyclonetest.Enqueued(t, client, Welcome); len(got) != 1 || got[0].To != "ada@example.com" {
		t.Errorf("welcome mails %v", got)
	}
}

func TestLastAttemptTellsTheOperator(t *testing.T) {
	ctx := cyclonetest.NewContext(t, cyclonetest.Attempt(5), cyclonetest.Meta("trace", "abc"))
	if err := cyclonetest.CallAction(ctx, Flaky, "input"); err == nil {
		t.Error("it is meant to fail")
	}
}

func TestReminderComesTheNextDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		began := time.Now()
		run, err := cyclone.EnqueueAction(t.Context(), client, Flaky, "input", cyclone.WithDelay(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		cyclonetest.Drain(t, client, Flaky)

		cyclonetest.RequireState(t, client, run, cyclone.StepExhausted)
		if took := time.Since(began); took < 24*time.Hour {
			t.Errorf("it was over after %v", took)
		}
	})
}

func TestSubscribeAfterAMonth(t *testing.T) {
	ctx := cyclonetest.NewContext(t, cyclonetest.Signal("confirmed", "ada@example.com"))
	out, err := cyclonetest.CallTask(ctx, Subscribe, "ada@example.com")
	if err != nil || out != "subscribed" {
		t.Errorf("%q, %v", out, err)
	}
	if got := cyclonetest.Recorded(ctx); !slices.Equal(got, []string{"ask", "confirmed", "first-letter"}) {
		t.Errorf("recorded %v", got)
	}
}

func TestReceiveBooksAndSends(t *testing.T) {
	ctx := cyclonetest.NewContext(t)
	if err := cyclonetest.CallAction(ctx, Receive, Payment{Account: "ada", Cents: 500}); err != nil {
		t.Fatal(err)
	}
	want := []string{"IncrBy cyclone:{0}:tx:received:ada 500", "Enqueue send_receipt"}
	if got := cyclonetest.Completion(t, ctx); !slices.Equal(got, want) {
		t.Errorf("added %q", got)
	}
	if got := cyclonetest.CompletionEnqueued(t, ctx, SendReceipt); len(got) != 1 || got[0].Cents != 500 {
		t.Errorf("receipts %v", got)
	}
}

func TestOrderWaitsForAnApproval(t *testing.T) {
	client := cyclonetest.NewClient(t)
	b := workflow.New("order")
	approval := workflow.WaitSignal[Approval](b, "approval", 0)
	workflow.Do(b, "pay", PayApproved, approval)
	run, err := b.Enqueue(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	cyclonetest.Drain(t, client, PayApproved)
	cyclonetest.RequireNode(t, client, run, "approval", cyclone.StepWaiting)

	if err := client.Signal(t.Context(), run.ID(), "approval", Approval{By: "Ada"}); err != nil {
		t.Fatal(err)
	}
	cyclonetest.Drain(t, client, PayApproved)
	cyclonetest.RequireRun(t, client, run, cyclone.RunCompleted)
}
