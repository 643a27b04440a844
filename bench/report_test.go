package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	shared "github.com/cyclone-queue/cyclone/bench/internal/machine"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
)

// faked is a report of invented figures: two rounds, one target met, one missed.
func faked() report {
	c := benchCase{name: "drain", figures: []figure{
		{"drain, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.5}},
		{"  p99 ms", p99Millis, target{of: medianValue, atMost: true, bound: 3}},
		{"  earliest ms", minMillis, target{of: worstValue, bound: 0}},
	}}
	all := rounds{
		floor:   []sample{{jobsPerSecond: 400_000}, {jobsPerSecond: 200_000}},
		cyclone: []sample{{jobsPerSecond: 200_000, p99Millis: 2, minMillis: 1}, {jobsPerSecond: 150_000, p99Millis: 5, minMillis: -0.5}},
	}
	return report{
		Machine: machine{shared.Machine{CPUs: 2, OS: "linux/amd64", Go: "go1"}, "Redis 7"}, PayloadBytes: payloadBytes,
		Concurrency: 10, Rounds: 2, Figures: summarize(c, all),
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	if err := faked().writeTable(&got); err != nil {
		t.Fatal(err)
	}
	want := `Redis 7, go1, linux/amd64, 2 CPUs for server and client
100-byte payloads, worker concurrency 10, 2 rounds; medians (min..max)

figure         floor  Cyclone                ratio                target         met
drain, jobs/s   300k     175k  (150k..200k)   0.62  (0.50..0.75)  ≥ 0.5 × floor  yes
  p99 ms           –     3.50  (2..5)            –                ≤ 3            NO
  earliest ms      –     0.25  (-0.50..1)        –                always ≥ 0     NO

2 targets missed.
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONCarriesEveryRound(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := faked().writeJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(faked(), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0.5, 0.75}, got.Figures[0].Ratio.Samples); diff != "" {
		t.Error(diff)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.5, 0.99: 3.97, 1: 4} {
		if got := figures.Quantile(values, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %g of %v is %g, not %g", q, values, got, want)
		}
	}
	if !math.IsNaN(figures.Quantile(nil, 0.5)) {
		t.Error("no values have a quantile")
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 3: "3", 0.336: "0.34", -0.5: "-0.50", 12.34: "12.3", 9.999: "10.0",
		454.6: "455", 1500: "1500", 9999: "9999", 9999.6: "10k", 454_600: "455k",
	} {
		if got := figures.Number(value); got != want {
			t.Errorf("%g prints as %q, not %q", value, got, want)
		}
	}
}
