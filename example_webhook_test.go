package cyclone_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/cyclone-queue/cyclone"
)

// WebhookDelivery is the input of the action below.
type WebhookDelivery struct {
	URL  string
	Body []byte
}

var DeliverWebhook = cyclone.NewAction("deliver_webhook",
	func(ctx cyclone.Context, in WebhookDelivery) error {
		resp, err := http.Post(in.URL, "application/json", bytes.NewReader(in.Body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()

		if resp.StatusCode >= 500 {
			return fmt.Errorf("webhook receiver returned %d", resp.StatusCode)
		}
		if resp.StatusCode >= 400 {
			return cyclone.Permanent(fmt.Errorf("bad webhook request: %d", resp.StatusCode))
		}
		return nil
	})

// logRetry tells the first attempt from the others.
func logRetry(ctx cyclone.Context, in WebhookDelivery) {
	if ctx.Attempt() > 1 {
		slog.Info("retrying webhook", "attempt", ctx.Attempt(), "url", in.URL)
	}
}

// An action retries what may pass, and gives up on what will not.
func ExampleNewAction() {
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
	}))
	defer receiver.Close()

	for _, status = range []int{503, 404, 200} {
		in := WebhookDelivery{URL: receiver.URL}
		logRetry(&fakeAttempt{attempt: 1}, in)
		fmt.Println(outcome(DeliverWebhook, 1, in))
	}
	// Output:
	// retry after 5s: webhook receiver returned 503
	// discard: bad webhook request: 404
	// complete
}
