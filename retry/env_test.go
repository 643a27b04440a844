package retry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/retry"
)

// lookupIn is os.LookupEnv over a map.
func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

func TestSpec_R01_PolicyFromTheEnvironment(t *testing.T) {
	t.Parallel()
	policy, jitter, jitterSet, err := retry.FromEnv(lookupIn(map[string]string{
		"ENGINE__RETRY__MAX_ATTEMPTS": "7",
		"ENGINE__RETRY__DELAYS":       "5s,10s,30s,1m,3m,10m,30m,1h",
		"ENGINE__RETRY__JITTER":       "0",
	}))
	if err != nil || jitter != 0 || !jitterSet {
		t.Errorf("jitter %v, set %v, error %v", jitter, jitterSet, err)
	}
	want := retry.Policy{MaxAttempts: 7, Delays: retry.DefaultDelays()}
	if diff := cmp.Diff(want, policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}

	policy, _, jitterSet, err = retry.FromEnv(lookupIn(nil))
	if err != nil || jitterSet || !cmp.Equal(policy, retry.Policy{}) {
		t.Errorf("nothing set: got %+v, jitter set %v, error %v", policy, jitterSet, err)
	}
	if retry.DefaultTaskAttempts != 4 || retry.DefaultMaxAttempts != 5 || retry.DefaultJitter != 0.2 {
		t.Error("the defaults are 4 tries for tasks, 5 attempts for the rest, and a jitter of 0.2")
	}
}

func TestSpec_R01_MalformedValueNamesItsVariable(t *testing.T) {
	t.Parallel()
	bad := map[string][]string{
		retry.EnvMaxAttempts: {"", "0", "-1", "4.5", "four", "10001", "99999999999999999999"},
		retry.EnvDelays:      {"", "5", "5s,", ",5s", "5s;10s", "0s", "-5s", "1s,0s", "900000h", strings.Repeat("1s,", 64) + "1s"},
		retry.EnvJitter:      {"", "-0.1", "1.1", "NaN", "Inf", "20%"},
	}
	for name, values := range bad {
		for _, value := range values {
			_, _, jitterSet, err := retry.FromEnv(lookupIn(map[string]string{name: value}))
			if err == nil || !strings.Contains(err.Error(), name) || jitterSet {
				t.Errorf("%s=%q: error %v, want one that names the variable", name, value, err)
			}
		}
	}
	_, _, _, err := retry.FromEnv(lookupIn(map[string]string{
		retry.EnvMaxAttempts: "x", retry.EnvDelays: "x", retry.EnvJitter: "x",
	}))
	for name := range bad {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}

func TestFromEnvAllowsBlanks(t *testing.T) {
	t.Parallel()
	policy, jitter, _, err := retry.FromEnv(lookupIn(map[string]string{
		retry.EnvMaxAttempts: " 2 ", retry.EnvDelays: " 1s , 2m ", retry.EnvJitter: " 1 ",
	}))
	want := retry.Policy{MaxAttempts: 2, Delays: []time.Duration{time.Second, 2 * time.Minute}}
	if err != nil || jitter != 1 || !cmp.Equal(policy, want) {
		t.Errorf("got %+v, jitter %v, error %v", policy, jitter, err)
	}
}
