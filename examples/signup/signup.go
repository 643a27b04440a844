// Package signup is a small service with a test: go test ./examples/signup -v. It
// shows how package cyclonetest checks what a program enqueues, what its handlers
// do, and how the whole behaves over days, in no time and without a Redis.
package signup

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Mail is the input of both actions.
type Mail struct {
	To   string `json:"to"`
	Name string `json:"name"`
}

// What the service has done in the background.
var (
	Welcome = cyclone.DeclareAction[Mail]("welcome_mail", cyclone.WithQueue("mail"))
	Remind  = cyclone.DeclareAction[Mail]("reminder_mail", cyclone.WithQueue("mail"), cyclone.WithUnique(cyclone.Unique{}))
)

// Register signs somebody up: a mail at once, another one after three days.
func Register(ctx context.Context, client cyclone.Enqueuer, name, to string) error {
	in := Mail{To: to, Name: name}
	_, err := cyclone.EnqueueMany(ctx, client,
		Welcome.With(in),
		Remind.With(in, cyclone.WithDelay(3*24*time.Hour)),
	)
	return err
}

// Mailer sends a mail.
type Mailer func(ctx context.Context, to, text string) error

// welcome is the handler of Welcome.
func (m Mailer) welcome(ctx cyclone.Context, in Mail) error {
	return m(ctx, in.To, "Welcome, "+in.Name+"!")
}

// remind is the handler of Remind. It leaves people alone who are hard to reach.
func (m Mailer) remind(ctx cyclone.Context, in Mail) error {
	err := m(ctx, in.To, "Still there, "+in.Name+"?")
	if err != nil && ctx.Attempt() > 1 {
		return cyclone.Permanent(fmt.Errorf("no second reminder: %w", err))
	}
	return err
}

// NewWorker returns the worker as the program runs it.
func NewWorker(client *queue.Client, mailer Mailer) (*worker.Worker, error) {
	w, err := worker.New(client, worker.Config{Queues: worker.Queues("mail"), Concurrency: 10})
	if err != nil {
		return nil, err
	}
	w.Register(
		cyclone.NewAction("welcome_mail", mailer.welcome),
		cyclone.NewAction("reminder_mail", mailer.remind),
	)
	return w, nil
}
