package testserver

import (
	"testing"
	"time"
)

// await polls until cond returns nil, and fails the test with its last error.
func await(t testing.TB, what string, cond func() error) {
	t.Helper()
	deadline := time.After(readyWithin)
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := cond()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("testserver: not within %v: %s: %v", readyWithin, what, err)
		case <-retry.C:
		}
	}
}
