package sim

import (
	"context"
	"flag"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{}) // dead hosts are on purpose
	goleak.VerifyTestMain(m)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

var (
	seeds  = flag.Int("seeds", 3, "how many seeds to simulate")
	from   = flag.Uint64("from", 1, "the first seed")
	engine = flag.Bool("engine", false, "")
)

func TestProbe(t *testing.T) {
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		d := StoreDriver
		if *engine {
			d = EngineDriver
		}
		r := Simulate(t, ConfigOf(seed, d))
		if again := Simulate(t, ConfigOf(seed, d)); again.Trace != r.Trace {
			t.Logf("seed %d: traces %s and %s", seed, r.Trace[:8], again.Trace[:8])
			if d == StoreDriver {
				t.Error("differ")
			}
		}
		t.Log(seed, r.Runs, r.Acknowledged, r.Virtual, r.Trace[:8], &r.Cover)
		for _, f := range r.Failures {
			t.Error(f)
		}
		if t.Failed() {
			for _, l := range r.Log {
				t.Log(l)
			}
			return
		}
	}
}
