// Package faults_test breaks things on purpose: worker processes and Redis
// servers are killed and frozen, scripts flushed, connections cut and hung,
// replies lost after execution. What was acknowledged must come to its end
// exactly once, and the storage must agree with itself.
//
// Each experiment has the same phases: load with faults; the faults stop;
// everything drains within a bound; an audit of all keys; and enough operations
// were acknowledged that it means something. One seed each is run by default;
// -seeds asks for more, -seed for a certain one.
//
// Campaigns are experiments with a number of runs of many steps, which -runs sets: no
// run is stuck, no step completes twice, what a task has recorded is a contiguous
// prefix of its steps whenever a worker dies and is never run again, and nothing is
// left of the runs when their time has passed.
package faults_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

var (
	seeds   = flag.Int("seeds", 1, "how many seeds to run of each experiment")
	seed    = flag.Uint64("seed", 1, "the first seed")
	voyages = flag.Int("runs", 500, "how many runs of many steps to drive in each experiment with them")
	deep    = flag.Int("positions", 3, "how many call positions of each script lose their replies")
)

// together is how many tests run at once: they wait more than they work.
const together = "8"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = flag.Set("test.parallel", together)
	}
	testserver.Run(m)
}

// eachSeed runs f for each seed that was asked for.
func eachSeed(t *testing.T, f func(t *testing.T, seed uint64)) {
	t.Helper()
	t.Parallel()
	for n := range *seeds {
		t.Run(fmt.Sprintf("seed=%d", *seed+uint64(n)), func(t *testing.T) {
			t.Parallel()
			f(t, *seed+uint64(n))
		})
	}
}
