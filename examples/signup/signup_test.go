package signup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

// What a request enqueues: no worker is needed to see it.
func TestRegisterEnqueues(t *testing.T) {
	client := cyclonetest.NewClient(t)
	for range 2 { // the reminder is unique
		if err := Register(t.Context(), client, "Ada", "ada@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	ada := Mail{To: "ada@example.com", Name: "Ada"}
	if got := cyclonetest.Enqueued(t, client, Welcome); !slices.Equal(got, []Mail{ada, ada}) {
		t.Errorf("welcome mails %v", got)
	}
	if got := cyclonetest.Enqueued(t, client, Remind); !slices.Equal(got, []Mail{ada}) {
		t.Errorf("reminders %v", got)
	}
}

// What a handler does: one attempt of the test's choice.
func TestRemindGivesUpAfterTheSecondAttempt(t *testing.T) {
	away := Mailer(func(context.Context, string, string) error { return errors.New("mailbox full") })
	for attempt, want := range map[int]retry.Outcome{1: retry.OutcomeRetry, 2: retry.OutcomeDiscard} {
		err := away.remind(cyclonetest.NewContext(t, cyclonetest.Attempt(attempt)), Mail{})
		if got := retry.Decide(retry.Rule{}, attempt, err, 0.5).Outcome; got != want {
			t.Errorf("attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

// How the whole behaves, with the worker as the program runs it. Three days and a
// retry pass at once in the bubble's virtual time.
func TestReminderComesAfterThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		began := time.Now()
		var mu sync.Mutex
		var sent []string
		mailer := func(_ context.Context, to, text string) error {
			mu.Lock()
			defer mu.Unlock()
			if len(sent) == 0 && time.Since(began) == 0 {
				return errors.New("greylisted") // the first try
			}
			sent = append(sent, fmt.Sprint(time.Since(began).Round(time.Hour), " ", text))
			return nil
		}
		if err := Register(t.Context(), client, "Ada", "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		cyclonetest.DrainWorker(t, client, func() (*worker.Worker, error) { return NewWorker(client, mailer) })
		if want := []string{"0s Welcome, Ada!", "72h0m0s Still there, Ada?"}; !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})
}

// How a step ends that cannot succeed.
func TestFullMailboxIsDiscarded(t *testing.T) {
	client := cyclonetest.NewClient(t)
	run, err := cyclone.EnqueueAction(t.Context(), client, Remind, Mail{To: "ada@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	full := Mailer(func(context.Context, string, string) error { return errors.New("mailbox full") })
	cyclonetest.Drain(t, client, cyclone.NewAction(Remind.Name(), full.remind))
	cyclonetest.RequireState(t, client, run, cyclone.StepExhausted)
}
