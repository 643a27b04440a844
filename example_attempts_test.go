package cyclone_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Email is the input of the action below.
type Email struct{ To string }

func sendEmail(cyclone.Context, Email) error { return errors.New("smtp: connection refused") }

var SendEmail = cyclone.NewAction("send_email", sendEmail,
	cyclone.WithMaxAttempts(5),
)

// enqueueEmail overrides the definition's limit for one e-mail.
func enqueueEmail(ctx context.Context, client cyclone.Enqueuer, in Email) error {
	_, err := cyclone.EnqueueAction(ctx, client, SendEmail, in,
		cyclone.WithMaxAttempts(3),
	)
	return err
}

// The definition sets a default, the enqueue may override it.
func ExampleWithMaxAttempts() {
	fmt.Println(outcome(SendEmail, 4, Email{}))
	fmt.Println(outcome(SendEmail, 5, Email{}))

	client := &recorder{}
	err := enqueueEmail(context.Background(), client, Email{To: "ada@example.com"})
	fmt.Println(client.specs[0].Options.MaxAttempts, err)
	// Output:
	// retry after 1m0s: smtp: connection refused
	// discard: smtp: connection refused
	// 3 <nil>
}

// SMS is the input of the action below.
type SMS struct{ Number string }

func sendSMS(cyclone.Context, SMS) error { return errors.New("gateway is busy") }

var SendSMS = cyclone.NewAction("send_sms", sendSMS,
	cyclone.WithBackoff(func(attempt int) time.Duration {
		return 30 * time.Second
	}),
)

// A system of its own gets waits of its own.
func ExampleWithBackoff() {
	capped := cyclone.WithBackoff(func(attempt int) time.Duration {
		d := time.Duration(1<<uint(attempt)) * time.Second
		if d > 5*time.Minute {
			return 5 * time.Minute
		}
		return d
	})
	SendSlowly := cyclone.NewAction("send_slowly", sendSMS, capped, cyclone.WithMaxAttempts(20))

	fmt.Println(outcome(SendSMS, 1, SMS{}))
	fmt.Println(outcome(SendSlowly, 1, SMS{}))
	fmt.Println(outcome(SendSlowly, 8, SMS{}))
	fmt.Println(outcome(SendSlowly, 9, SMS{}))
	// Output:
	// retry after 30s: gateway is busy
	// retry after 2s: gateway is busy
	// retry after 4m16s: gateway is busy
	// retry after 5m0s: gateway is busy
}
