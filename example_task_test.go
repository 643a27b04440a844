package cyclone_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

type onboardingInput struct{ AccountID, Name, Email string }

type onboardingOutput struct{ MessageID string }

// onboarding has the handler of the task below, and what it needs.
type onboarding struct{ sendWelcome func(email string) error }

func (o onboarding) createAccount(ctx context.Context, in onboardingInput) (onboardingOutput, error) {
	if strings.TrimSpace(in.AccountID) == "" || strings.TrimSpace(in.Name) == "" || strings.TrimSpace(in.Email) == "" {
		return onboardingOutput{}, cyclone.Permanent(errors.New("account_id, name, and email are required"))
	}
	messageID, err := o.welcome(in.Email)
	return onboardingOutput{MessageID: messageID}, err
}

func (o onboarding) welcome(email string) (string, error) {
	if err := o.sendWelcome(email); err != nil {
		return "", cyclone.RetryAfter(err, 30*time.Second)
	}
	return "welcome to " + email, nil
}

// newWorker returns a worker without a Redis, which it does not need before it runs.
func newWorker() *worker.Worker {
	client, err := queue.NewClient(redis.NewClient(&redis.Options{}), queue.Config{})
	if err != nil {
		panic(err)
	}
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		panic(err)
	}
	return w
}

// A task gets its policy when it is added to a worker.
func ExampleRetry() {
	handler := onboarding{sendWelcome: func(string) error { return errors.New("too many requests") }}
	worker := newWorker()
	task := worker.NewTask("create-account", cyclone.HandlerFunc(handler.createAccount),
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Second}}),
	)

	ada := onboardingInput{AccountID: "7", Name: "Ada", Email: "ada@example.com"}
	fmt.Println(outcome(task, 1, onboardingInput{}))
	fmt.Println(outcome(task, 2, ada))
	fmt.Println(outcome(task, 3, ada))
	// Output:
	// discard: account_id, name, and email are required
	// retry after 30s: too many requests
	// discard: too many requests
}
