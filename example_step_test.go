package cyclone_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// account is the result of a recorded step.
type account struct{ ID, Email string }

// recordedOnboarding is a task of two recorded steps.
type recordedOnboarding struct {
	create func(in onboardingInput) (account, error)
	emails interface {
		SendWelcome(ctx context.Context, to account) (string, error)
	}
}

func (o recordedOnboarding) createAccount(ctx context.Context, in onboardingInput) (onboardingOutput, error) {
	created, err := step.Do(ctx, "create-account", func(context.Context) (account, error) { return o.create(in) })
	if err != nil {
		return onboardingOutput{}, err
	}
	messageID, err := step.Do(ctx, "send-welcome-email", func(ctx context.Context) (string, error) {
		return o.emails.SendWelcome(ctx, created)
	})
	if err != nil {
		// Keep the account when delivery fails finally; fail the Run.
		return onboardingOutput{}, err
	}
	return onboardingOutput{MessageID: messageID}, nil
}

// patient gives the delivery more tries than the task has.
func (o recordedOnboarding) patient(ctx context.Context, created account) (onboardingOutput, error) {
	messageID, err := step.Do(ctx, "send-welcome-email", func(ctx context.Context) (string, error) {
		return o.emails.SendWelcome(ctx, created)
	}, step.Retry(step.RetryPolicy{MaxAttempts: 5}))
	return onboardingOutput{MessageID: messageID}, err
}

// outage is a mail server that comes back after some failures.
type outage struct{ left int }

func (o *outage) SendWelcome(_ context.Context, to account) (string, error) {
	fmt.Println("sending to", to.Email)
	if o.left--; o.left >= 0 {
		return "", errors.New("mail server is away")
	}
	return "welcome-" + to.ID, nil
}

// A recorded step runs once, however often its task has to begin again for another one.
func Example_recordedSteps() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, err := queue.Open(server.URL(), queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()

	o := recordedOnboarding{
		create: func(in onboardingInput) (account, error) {
			fmt.Println("creating", in.AccountID)
			return account{ID: in.AccountID, Email: in.Email}, nil
		},
		emails: &outage{left: 2},
	}
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	policy := cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Millisecond}})
	task := cyclone.NewTask("create-account", cyclone.HandlerFunc(o.createAccount), policy)
	later := recordedOnboarding{emails: &outage{left: 4}}
	patient := cyclone.NewTask("welcome-again", cyclone.HandlerFunc(later.patient), policy)
	w.Register(task, patient)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()

	run, err := cyclone.EnqueueTask(ctx, client, task, onboardingInput{AccountID: "7", Name: "Ada", Email: "ada@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	out, err := run.Wait(ctx)
	fmt.Println(out.MessageID, err)

	again, err := cyclone.EnqueueTask(ctx, client, patient, account{ID: "8", Email: "bob@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	out, err = again.Wait(ctx)
	fmt.Println(out.MessageID, err)
	cancel()
	<-done
	// Output:
	// creating 7
	// sending to ada@example.com
	// sending to ada@example.com
	// sending to ada@example.com
	// welcome-7 <nil>
	// sending to bob@example.com
	// sending to bob@example.com
	// sending to bob@example.com
	// sending to bob@example.com
	// sending to bob@example.com
	// welcome-8 <nil>
}
