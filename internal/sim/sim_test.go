package sim

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/cyclone-queue/cyclone/internal/dag"
)

func init() { flag.IntVar(&logged, "log", logged, "how many of the latest changes a failure shows") }

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)  // scripts make much garbage, and little of it lives
	redis.SetLogger(quiet{}) // dead hosts are on purpose
	goleak.VerifyTestMain(m)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

var (
	seeds  = flag.Int("seeds", defaultSeeds, "how many seeds to simulate")
	from   = flag.Uint64("from", 1, "the first seed")
	driver = flag.String("driver", "", "simulate with this driver only: store or engine")
)

// TestSeeds simulates every seed with both drivers: the store driver twice, for the
// same trace. Together they have to reach what is risky.
//
//	go test ./internal/sim -seeds 1000 -timeout 0
func TestSeeds(t *testing.T) {
	t.Parallel()
	var total tally
	t.Run("of", func(t *testing.T) {
		for seed := *from; seed < *from+uint64(*seeds); seed++ {
			for _, d := range []Driver{StoreDriver, EngineDriver} {
				if *driver != "" && *driver != d.String() {
					continue
				}
				t.Run(fmt.Sprintf("%v/%d", d, seed), func(t *testing.T) {
					t.Parallel()
					total.add(simulate(t, ConfigOf(seed, d)))
				})
			}
		}
	})
	t.Log(&total)
	if *seeds >= defaultSeeds && *driver == "" && !raceDetector {
		total.expect(t)
	}
}

// largeSizes are how many nodes follow the first one in runs that are released by the
// sweep, and in runs that are stored in several calls too.
var largeSizes = []int{dag.WideAbove + 1, 4*dag.WideAbove + 10}

// TestLargeRuns simulates a few seeds with runs of very many nodes.
func TestLargeRuns(t *testing.T) {
	t.Parallel()
	for _, size := range largeSizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			var total tally
			t.Run("of", func(t *testing.T) {
				for seed := *from; seed < *from+largeSeeds && seed < *from+uint64(*seeds); seed++ {
					t.Run(fmt.Sprint(seed), func(t *testing.T) {
						t.Parallel()
						total.add(simulate(t, LargeConfigOf(seed, size)))
					})
				}
			})
			if c := &total.cover; c.RunsBuilt == 0 || c.RunsEnded == 0 || c.NodesCompleted < size {
				t.Errorf("%d runs were built and %d ended, %d nodes completed", c.RunsBuilt, c.RunsEnded, c.NodesCompleted)
			}
		})
	}
}

// largeSeeds is how many seeds have each size.
const largeSeeds = 2

// simulate runs one seed and reports what it broke.
func simulate(t *testing.T, cfg Config) Result {
	r := Simulate(t, cfg)
	if cfg.Driver == StoreDriver && !raceDetector {
		if again := Simulate(t, cfg); again.Trace != r.Trace {
			t.Errorf("two runs left the traces %s and %s", r.Trace, again.Trace)
		}
	}
	if len(r.Failures) > 0 {
		for _, line := range r.Log {
			t.Log(line)
		}
		for _, f := range r.Failures[:min(len(r.Failures), 10)] {
			t.Error(f)
		}
		test := "TestSeeds"
		if cfg.Large > 0 {
			test = fmt.Sprintf("TestLargeRuns/%d", cfg.Large)
		}
		t.Errorf("to run it again: go test ./internal/sim -run %s -from %d -seeds 1 -driver %v -v", test, cfg.Seed, cfg.Driver)
	}
	t.Logf("%d commands, %d steps, %d operations in %v: %s", r.Cover.Commands, r.Runs, r.Acknowledged, r.Virtual.Round(time.Second), r.Trace[:16])
	return r
}

// tally is the sum of many simulations.
type tally struct {
	mu                 sync.Mutex
	cover              Coverage
	runs, acked, count int
}

func (y *tally) add(r Result) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.cover.Add(&r.Cover)
	y.runs += r.Runs
	y.acked += r.Acknowledged
	y.count++
}

func (y *tally) String() string {
	return fmt.Sprintf("%d simulations: %d steps, %d operations acknowledged; %v", y.count, y.runs, y.acked, &y.cover)
}

// unreachable is what hardly any simulation reaches: a number is left out when writes
// are lost by a failover, which internal/topology has, or when a lane that was forgotten
// is opened by a late duplicate.
var unreachable = []string{"Gaps"}

// expect fails when something risky was not reached, or too little was done.
func (y *tally) expect(t *testing.T) {
	t.Helper()
	missing := y.cover.Missing()
	missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(unreachable, name) })
	if len(missing) > 0 {
		t.Errorf("never happened: %v", missing)
	}
	if least := 50 * y.count; y.acked < least {
		t.Errorf("%d operations were acknowledged: at least %d prove something", y.acked, least)
	}
}
