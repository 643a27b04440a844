package cyclone_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// APIInput is the input of the action below.
type APIInput struct{ Path string }

// apiResponse is what the API client gives back.
type apiResponse struct {
	StatusCode int
	wait       time.Duration
}

// RetryAfter is the parsed header of that name.
func (r apiResponse) RetryAfter() time.Duration { return r.wait }

func callAPI(context.Context, APIInput) (apiResponse, error) {
	return apiResponse{StatusCode: 429, wait: 90 * time.Second}, nil
}

var CallRateLimitedAPI = cyclone.NewAction("call_api",
	func(ctx cyclone.Context, in APIInput) error {
		resp, err := callAPI(ctx, in)
		if err != nil {
			return err // retries with backoff
		}
		if resp.StatusCode == 429 {
			retryAfter := resp.RetryAfter()
			return cyclone.Snooze(retryAfter)
		}
		return nil
	})

// A snooze waits for a known time and uses up no attempt, not even the last one.
func ExampleSnooze() {
	fmt.Println(outcome(CallRateLimitedAPI, 1, APIInput{}))
	fmt.Println(outcome(CallRateLimitedAPI, 5, APIInput{}))
	// Output:
	// snooze after 1m30s: snooze for 1m30s
	// snooze after 1m30s: snooze for 1m30s
}
