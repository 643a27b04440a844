package cyclone_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// chargeCard is code below a handler that takes a plain context.
func chargeCard(ctx context.Context) string {
	attempt, ok := cyclone.FromContext(ctx)
	if !ok {
		return "charged by hand"
	}
	return "charged under the key " + attempt.IdempotencyKey()
}

// A handler with a plain context.Context can derive from it under the same name;
// what it calls still finds the attempt.
func ExampleFromContext() {
	charge := cyclone.NewStep("charge", func(ctx context.Context, cents int) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return chargeCard(ctx), nil
	})

	attempt := &fakeAttempt{Context: context.Background(), attempt: 1}
	out, err := charge.Wire().Invoke(attempt, func(any) error { return nil })
	fmt.Println(out, err)
	fmt.Println(chargeCard(context.Background()))
	// Output:
	// charged under the key 12345:send_email <nil>
	// charged by hand
}
