package bounds

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The committed file has a bound for each figure, none beside, and no word that
// -update would not write.
func TestTableIsWhatUpdateWrites(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := readTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bounds.text(), string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestTableRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"| a | x | b |\n":                "the bound of \"a\"",
		"| a | 1 | b |\n| a | 2 | b |\n": "twice",
	} {
		if _, err := readTable(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestVerdictNamesTheFigure(t *testing.T) {
	t.Parallel()
	w := &workload{name: "swim", unit: "lap", figures: []figure{{commands, 0}, {bytesSent, 0}, {redisBytes, 0}}}
	got := w.exceeded(
		table{"swim: Redis commands per lap": 2, "swim: bytes sent per lap": 10},
		sample{commands: 2, bytesSent: 10.5, redisBytes: 1})
	want := []string{
		"swim: bytes sent per lap: 10.5, and its bound is 10. " + advice,
		"swim: bytes in Redis per lap has no bound in internal/bounds/bounds.md: write it by `go test ./internal/bounds -update`",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBoundIsShortAndNotBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ measured, headroom, want float64 }{
		{1, 0, 1}, {8.015, 0, 8.02}, {0.0044, 0.05, 0.00462}, {181.6, 0.1, 200}, {12345, 0, 12400}, {0, 0.1, 0},
	} {
		if got := (figure{headroom: c.headroom}).bound(c.measured); got != c.want {
			t.Errorf("%v with a headroom of %v: %v, want %v", c.measured, c.headroom, got, c.want)
		}
	}
}
