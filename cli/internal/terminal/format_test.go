package terminal

import (
	"math"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0µs", 400 * time.Microsecond: "400µs", 5 * time.Millisecond: "5.0ms", 999 * time.Millisecond: "999ms",
		time.Second: "1.0s", 9990 * time.Millisecond: "9.9s", 42 * time.Second: "42s", time.Minute: "1m", 61 * time.Second: "1m1s",
		3 * time.Hour: "3h", 3*time.Hour + 5*time.Minute + 7*time.Second: "3h5m", 50 * time.Hour: "2d2h", -time.Second: "-1.0s",
		math.MaxInt64: "106751d23h", math.MinInt64: "-53375d23h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 100000: "100,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := Plural(1, "step", "steps") + ", " + Plural(2000, "step", "steps"); got != "1 step, 2,000 steps" {
		t.Error(got)
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", math.MaxInt64: "8.0 EiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	p := Painter{On: true}
	red := p.Paint(Bad, "abc") + "def"
	for width, want := range map[int]string{6: red, 4: p.Paint(Bad, "abc") + "d\x1b[0m", 2: "\x1b[31mab\x1b[0m", 0: "\x1b[31m\x1b[0m"} {
		if got := Clip(red, width); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 0, "abc"}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab cd", 4, "ab…"}, {"漢字漢", 5, "漢字…"}, {"漢字漢", 4, "漢…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"abc", 1, "…"},
	} {
		if got := Fit(c.in, c.width); got != c.want || Width(got) > max(c.width, Width(c.in)) {
			t.Errorf("%q in %d: %q, want %q", c.in, c.width, got, c.want)
		}
	}
}
