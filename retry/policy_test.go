package retry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		policy retry.Policy
		want   []string // what the error must name; none: no error
	}{
		{"zero", retry.Policy{}, nil},
		{"good", retry.Policy{MaxAttempts: 1, Delays: []time.Duration{1, retry.MaxDelay}}, nil},
		{"too few", retry.Policy{MaxAttempts: -1}, []string{"max attempts -1"}},
		{"too many", retry.Policy{MaxAttempts: 10_001}, []string{"max attempts 10001", "10000"}},
		{"everything", retry.Policy{MaxAttempts: -1, Delays: []time.Duration{time.Second, 0, -time.Second, retry.MaxDelay + 1}},
			[]string{"max attempts", "delays[1]", "delays[2]", "delays[3]"}},
		{"long table", retry.Policy{Delays: []time.Duration{64: 1}}, []string{"65 entries", "64"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.policy.Validate()
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not name %q", err, part)
				}
			}
		})
	}
}

func TestDefaultDelaysIsACopy(t *testing.T) {
	t.Parallel()
	retry.DefaultDelays()[0] = time.Hour
	if got := retry.DefaultDelays()[0]; got != 5*time.Second {
		t.Errorf("first default delay is now %v", got)
	}
}

func TestConstant(t *testing.T) {
	t.Parallel()
	if got := retry.Constant(time.Minute)(7); got != time.Minute {
		t.Errorf("got %v", got)
	}
	if got := retry.Constant(-1)(7); got != 0 {
		t.Errorf("negative: got %v", got)
	}
}
