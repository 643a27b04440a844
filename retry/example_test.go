package retry_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// What becomes of a step depends on the error that its handler returned.
func ExampleDecide() {
	rule := retry.Rule{MaxAttempts: 5}
	outage := errors.New("provider returned 500")
	const dice = 0.5

	for _, err := range []error{
		nil,
		outage,
		retry.After(outage, 30*time.Second),
		retry.Snooze(10 * time.Minute),
		retry.Permanent(errors.New("no such address")),
	} {
		d := retry.Decide(rule, 2, err, dice)
		fmt.Printf("%v after %v, counts: %v\n", d.Outcome, d.Delay, d.Counts)
	}
	// Output:
	// complete after 0s, counts: false
	// retry after 10s, counts: true
	// retry after 30s, counts: true
	// snooze after 10m0s, counts: false
	// discard after 0s, counts: true
}

// The waits of a capped exponential backoff.
func ExampleExponential() {
	backoff := retry.Exponential(2*time.Second, time.Minute)
	for attempt := 1; attempt <= 7; attempt++ {
		fmt.Print(backoff(attempt), " ")
	}
	// Output: 2s 4s 8s 16s 32s 1m0s 1m0s
}

// A program stops when a variable is malformed; the error names it.
func ExampleFromEnv() {
	os.Setenv(retry.EnvJitter, "20%")
	defer os.Unsetenv(retry.EnvJitter)

	_, _, _, err := retry.FromEnv(os.LookupEnv)
	fmt.Println(err)
	// Output: ENGINE__RETRY__JITTER="20%": must be a number from 0 to 1
}
