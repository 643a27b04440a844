package cyclone_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/retry"
)

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"cyclone: run 12 failed at send_email after 5 attempts: no route": &cyclone.RunError{
			RunID: 12, State: cyclone.RunFailed, Node: "send_email", Attempts: 5, Code: "error", Message: "no route"},
		"cyclone: run 12 cancelled":                             &cyclone.RunError{RunID: 12, State: cyclone.RunCancelled},
		`cyclone: duplicate: unique key "ada" is held by run 7`: &cyclone.DuplicateError{Key: "ada", Holder: 7},
		"1 of 2 requests failed; request 1: EOF":                &cyclone.BatchError{Errors: []error{nil, io.EOF}},
		"4 of 4 requests failed; request 0: EOF; request 1: EOF; request 2: EOF; …": &cyclone.BatchError{
			Errors: []error{io.EOF, io.EOF, io.EOF, io.EOF}},
	} {
		if err.Error() != want {
			t.Errorf("got  %q\nwant %q", err, want)
		}
	}
}

func TestRunErrorMatchesCancelled(t *testing.T) {
	t.Parallel()
	cancelled := fmt.Errorf("wait: %w", &cyclone.RunError{State: cyclone.RunCancelled})
	if !errors.Is(cancelled, cyclone.ErrCancelled) || errors.Is(&cyclone.RunError{State: cyclone.RunFailed}, cyclone.ErrCancelled) {
		t.Error("ErrCancelled must match cancelled runs and no others")
	}
}

func TestControlErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want retry.Decision
	}{
		{cyclone.Permanent(io.EOF), retry.Decision{Outcome: retry.OutcomeDiscard, Code: "permanent", Counts: true}},
		{cyclone.Snooze(time.Minute), retry.Decision{Outcome: retry.OutcomeSnooze, Delay: time.Minute}},
		{cyclone.RetryAfter(io.EOF, time.Minute), retry.Decision{Outcome: retry.OutcomeRetry, Delay: time.Minute, Code: "error", Counts: true}},
	}
	for _, tt := range tests {
		if got := retry.Decide(retry.Rule{}, 1, tt.err, 0); got != tt.want {
			t.Errorf("%v: got %+v, want %+v", tt.err, got, tt.want)
		}
	}
	if cyclone.Permanent(nil) != nil || cyclone.RetryAfter(nil, time.Minute) != nil {
		t.Error("a marker of nil must be nil")
	}
}
