// Task adds a task to a worker: a handler with an output and a task's own defaults,
// 4 tries of which a lost one counts.
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
)

// Account is the input of the task.
type Account struct{ Name, Email string }

// onboarding has the handler and what it needs.
type onboarding struct{ mailer func(email string) error }

func (o *onboarding) createAccount(ctx cyclone.Context, in Account) (string, error) {
	if strings.TrimSpace(in.Email) == "" {
		return "", cyclone.Permanent(errors.New("email is required"))
	}
	if err := o.mailer(in.Email); err != nil {
		return "", cyclone.RetryAfter(err, 20*time.Millisecond)
	}
	// The same on every try: a provider that takes such a key sends one mail only.
	return "welcomed " + in.Name + " under the key " + ctx.IdempotencyKey(), nil
}

// CreateAccount is how other processes know the task.
var CreateAccount = cyclone.DeclareTask[Account, string]("create-account")

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := devredis.Client(queue.Config{})
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		log.Fatal(err)
	}
	outage := 2
	handler := &onboarding{mailer: func(string) error {
		if outage--; outage >= 0 {
			return errors.New("mail server is away")
		}
		return nil
	}}
	w.NewTask("create-account", cyclone.HandlerFunc(handler.createAccount),
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Second}}))
	go w.Run(ctx)

	for _, in := range []Account{{Name: "Ada", Email: "ada@example.com"}, {Name: "Bob"}} {
		run, err := cyclone.EnqueueTask(ctx, client, CreateAccount, in)
		if err != nil {
			log.Fatal(err)
		}
		var failed *cyclone.RunError
		switch text, err := run.Wait(ctx); {
		case err == nil:
			fmt.Println(strings.ReplaceAll(text, run.ID().String(), "<run>"))
		case errors.As(err, &failed):
			fmt.Printf("%s: %s: %s\n", in.Name, failed.State, failed.Message)
		default:
			log.Fatal(err)
		}
	}
}
