// Onboarding is a durable task: it creates an account, sends a mail that may need
// several tries, and waits for the user to confirm. Each step takes effect once, and
// the waits hold no worker. Another task falls back to a letter when mail fails for good.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

type onboardingInput struct {
	AccountID string `json:"account_id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
}

type onboardingOutput struct {
	MessageID string `json:"message_id"`
	Confirmed bool   `json:"confirmed"`
}

// CreateAccount is how other processes know the task.
var CreateAccount = cyclone.DeclareTask[onboardingInput, onboardingOutput]("create-account")

// onboarding has the handler and what it needs.
type onboarding struct {
	accounts *accounts
	emails   *emails
	letters  *letters
}

func (o *onboarding) createAccount(ctx cyclone.Context, in onboardingInput) (onboardingOutput, error) {
	if strings.TrimSpace(in.AccountID) == "" || strings.TrimSpace(in.Name) == "" || strings.TrimSpace(in.Email) == "" {
		return onboardingOutput{}, cyclone.Permanent(errors.New("account_id, name, and email are required"))
	}
	created, err := step.Do(ctx, "create-account", func(ctx context.Context) (account, error) {
		return o.accounts.Create(ctx, in)
	})
	if err != nil {
		return onboardingOutput{}, err
	}
	messageID, err := step.Do(ctx, "send-welcome-email", func(ctx context.Context) (string, error) {
		return o.emails.SendWelcome(ctx, created)
	}, step.Retry(step.RetryPolicy{MaxAttempts: 5}))
	if err != nil {
		// Keep the account when delivery fails finally; fail the run.
		return onboardingOutput{}, err
	}
	confirmed, err := o.waitForUser(ctx, created)
	return onboardingOutput{MessageID: messageID, Confirmed: confirmed}, err
}

// waitForUser returns whether the user has confirmed. An account that nobody confirms
// is closed.
func (o *onboarding) waitForUser(ctx context.Context, created account) (bool, error) {
	by, err := step.WaitSignal[string](ctx, "confirmed", time.Second)
	if errors.Is(err, step.ErrTimeout) {
		_, err := step.Do(ctx, "close-account", func(ctx context.Context) (account, error) {
			return created, o.accounts.Close(ctx, created)
		})
		return false, err
	}
	return by == created.Email, err
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	handler := &onboarding{accounts: &accounts{}, emails: &emails{outage: 2}, letters: &letters{}}
	w.NewTask("create-account", cyclone.HandlerFunc(handler.createAccount),
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{50 * time.Millisecond}}))
	w.NewTask("invite", cyclone.HandlerFunc(handler.invite))
	go w.Run(ctx)

	ada, err := cyclone.EnqueueTask(ctx, client, CreateAccount, onboardingInput{"7", "Ada", "ada@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	// What the link in the mail leads to. It may come before the task waits for it.
	if err := client.Signal(ctx, ada.ID(), "confirmed", "ada@example.com"); err != nil {
		log.Fatal(err)
	}
	show(ada.Wait(ctx))

	for _, in := range []onboardingInput{{"8", "Bob", "bob@example.com"}, {"9", "", "nobody@example.com"}} {
		run, err := cyclone.EnqueueTask(ctx, client, CreateAccount, in)
		if err != nil {
			log.Fatal(err)
		}
		show(run.Wait(ctx))
	}

	run, err := cyclone.EnqueueTask(ctx, client, Invite, account{ID: "10", Email: "cleo@nowhere.example"})
	if err != nil {
		log.Fatal(err)
	}
	message, err := run.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("invited by", message)
}

func show(out onboardingOutput, err error) {
	var failed *cyclone.RunError
	switch {
	case err == nil:
		fmt.Printf("done: message %s, confirmed %v\n", out.MessageID, out.Confirmed)
	case errors.As(err, &failed):
		fmt.Printf("%s: %s\n", failed.State, failed.Message)
	default:
		log.Fatal(err)
	}
}
