package model_test

import (
	"flag"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/model"
)

var deep = flag.Bool("deep", false, "search the protocol with a crash beside three claims and two commands: some minutes and 6 GB")

// Two steps, two workers, an operator, and a network that loses, repeats and
// delays: in every state that can be reached each step is in one place, has one
// owner, keeps to its attempts and ends once, and no handler starts for nothing.
func TestProtocol(t *testing.T) {
	t.Parallel()
	worlds := []model.Protocol{
		{Claims: 3, Commands: 0},
		{Claims: 2, Commands: 1},
		{Claims: 1, Commands: 1, Crashes: 1},
	}
	if !raceDetector && !testing.Short() {
		worlds = []model.Protocol{
			{Claims: 3, Commands: 2},
			{Claims: 2, Commands: 1, Crashes: 1},
		}
	}
	if *deep {
		worlds = append(worlds, model.Protocol{Claims: 3, Commands: 2, Crashes: 1})
	}
	for _, p := range worlds {
		p.MaxAttempts, p.MaxLost = 2, 2
		r := p.Search()
		t.Logf("%d claims, %d commands, %d crashes: %v", p.Claims, p.Commands, p.Crashes, r)
		if r.Err != nil {
			t.Errorf("%v, after %q", r.Err, r.Path)
		}
	}
}

// Without any one of its guards the protocol fails.
func TestEachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	for _, g := range model.Guards() {
		t.Run(g.String(), func(t *testing.T) {
			t.Parallel()
			p := model.Protocol{Claims: 3, Commands: 3, Crashes: 1, MaxAttempts: 2, MaxLost: 2, Without: g, Bounds: model.Bounds{First: true, States: 100_000}}
			r := p.Search()
			t.Logf("%v: %v, after %q", r, r.Err, r.Path)
			if r.Bad == 0 {
				t.Error("nothing misses it")
			}
		})
	}
}
