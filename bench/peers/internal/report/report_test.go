package report

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/internal/machine"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/run"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

func spread(values ...float64) *figures.Spread { return figures.SpreadOf(values) }

// invented is a report of made-up figures.
func invented() Report {
	figure := func(m stage.Metric, title string, cells ...run.Cell) run.Table {
		return run.Table{Metric: m, Title: title, Cells: cells}
	}
	drain := run.Result{
		Case: "drain", Title: "drain & more",
		Figures: []run.Table{
			figure(stage.JobsPerSecond, "jobs/s",
				run.Cell{Contender: contender.Cyclone, Value: spread(300_000, 340_000)},
				run.Cell{Contender: contender.Asynq, Value: spread(10_000, 20_000), Ratio: spread(30, 17)},
				run.Cell{Contender: "sidekiq"}),
			figure(stage.ServerMicros, "server µs/job",
				run.Cell{Contender: contender.Cyclone, Value: spread(2, 3)},
				run.Cell{Contender: contender.Asynq, Value: spread(40, 40), Ratio: spread(0.05, 0.075)},
				run.Cell{Contender: "sidekiq"}),
		},
		Sides: []run.Side{
			{Contender: contender.Cyclone, Rounds: 2}, {Contender: contender.Asynq, Rounds: 2},
			{Contender: "sidekiq", Failed: "await: it hangs"},
		},
	}
	point := func(name string, rate float64) run.Result {
		return run.Result{
			Case: "queued-" + name, Title: "jobs queued: " + name, Curve: "queued", Point: name, About: "jobs queued",
			Figures: []run.Table{figure(stage.JobsPerSecond, "drained/s", run.Cell{Contender: contender.Cyclone, Value: spread(rate)})},
			Sides:   []run.Side{{Contender: contender.Cyclone, Rounds: 1}},
		}
	}
	r := Report{
		Machine: machine.Machine{CPUs: 2, Model: "Abacus", OS: "linux/amd64", Go: "go1"}, Rounds: 2,
		Contenders: []Contender{
			{Name: contender.Cyclone, Guarantee: "at least once", Library: "this tree", Server: "Redis 7",
				Settings: map[string]string{"drain": "concurrency 100"}},
			{Name: contender.Asynq, Guarantee: "at least once", Library: "v0", Server: "Redis 7"},
			{Name: "sidekiq", Guarantee: "at most once", Library: "6", Server: "Redis 7", About: "Ruby"},
		},
		LeftOut: []LeftOut{{Name: "river", Why: "no postgres on PATH"}},
		Results: []run.Result{drain, point("100k", 200), point("5M", 150)},
	}
	r.Targets = Judge(r.Results)
	return r
}

func TestText(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	if err := invented().WriteText(&got); err != nil {
		t.Fatal(err)
	}
	want := `Abacus, 2 CPUs for servers and clients, linux/amd64, go1
servers without persistence; 2 rounds; medians (min..max); Cyclone ÷ is Cyclone's value divided by the contender's, round by round

contender  guarantee      library    server
cyclone    at least once  this tree  Redis 7
asynq      at least once  v0         Redis 7
sidekiq    at most once   6          Redis 7  Ruby
left out: river: no postgres on PATH

settings, the best of those tried
  cyclone, drain: concurrency 100

drain & more (drain)
         jobs/s                Cyclone ÷                server µs/job  rounds  guarantee
cyclone    320k  (300k..340k)                                    2.50       2  at least once
asynq       15k  (10k..20k)         23.5  (17.0..30.0)           40.0       2  at least once
sidekiq       –                                                     –       –  at most once
sidekiq failed: await: it hangs

jobs queued: 100k (queued-100k)
         drained/s  Cyclone ÷  rounds  guarantee
cyclone        200                  1  at least once

jobs queued: 5M (queued-5M)
         drained/s  Cyclone ÷  rounds  guarantee
cyclone        150                  1  at least once

jobs queued: drained/s
         100k   5M
cyclone   200  150  × 0.75

targets
                                              reached  met
drain jobs per second ≥ 25 × asynq               23.5  NO
drain server cpu us per job ≤ 0.0833 × asynq     0.06  yes
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "charts")
	if err := invented().WriteSVG(folder); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"drain.svg": ">asynq<", "growth-queued-1.svg": ">5M<"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), says) || strings.Contains(string(text), "NaN") {
			t.Errorf("%s does not say %q:\n%s", name, says, text)
		}
		for decoder := xml.NewDecoder(strings.NewReader(string(text))); ; {
			if _, err := decoder.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
