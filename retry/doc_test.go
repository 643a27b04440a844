package retry_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// short prints a duration without its trailing zero units: 1m0s as 1m.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// TestDocPrintsTheSchedule keeps the table of the package comment true.
func TestDocPrintsTheSchedule(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	folded := strings.Join(strings.Fields(strings.ReplaceAll(string(source), "//", "")), " ")
	rule := retry.Rule{MaxAttempts: 100, Jitter: retry.DefaultJitter}
	var budget time.Duration
	for i, d := range retry.DefaultDelays() {
		row := fmt.Sprintf("%d %s %s .. %s", i+1, short(d), short(d*8/10), short(d*12/10))
		if i == len(retry.DefaultDelays())-1 {
			row = strings.Replace(row, "8 ", "8 and later ", 1)
		}
		if !strings.Contains(folded, row) {
			t.Errorf("the package comment lacks the row %q", row)
		}
		wait := retry.Decide(rule, i+1, errors.New("x"), 0.5).Delay
		if i+1 < retry.DefaultMaxAttempts {
			budget += wait
		}
	}
	if !strings.Contains(folded, short(budget)+" after its first failure") {
		t.Errorf("the package comment does not say that a step is discarded %v after its first failure", budget)
	}
}
