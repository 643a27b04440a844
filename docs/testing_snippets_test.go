package docs

// The tests that testing.md shows; they run.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
)

// Welcome and Register are the program under test.
var Welcome = cyclone.DeclareAction[Email]("welcome_mail")

func Register(ctx context.Context, client cyclone.Enqueuer, name, to string) error {
	_, err := cyclone.EnqueueAction(ctx, client, Welcome, Email{To: to, Subject: "Welcome, " + name})
	return err
}

// Flaky always fails.
var Flaky = cyclone.NewAction("flaky", func(cyclone.Context, string) error { return errors.New("mailbox full") })

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
