// Package cases are the pieces of work that contenders do.
package cases

import (
	"context"
	"fmt"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// Case is one kind of work to measure.
type Case struct {
	Name, Title string
	Needs       contender.Ability
	// Tunes are the settings that this case chooses, by its first row.
	Tunes []contender.Purpose
	// Most is the largest number of jobs of a piece. With Scaled it is the jobs that
	// the contender does in a turn, if that is fewer.
	Most   int
	Scaled bool
	// MaxRounds limits the rounds, 0 for no limit.
	MaxRounds int
	// Curve and Point are where a growth case belongs, and About says what grows.
	Curve, Point, About string
	// Quick cases are part of a quick run.
	Quick bool
	// Rows are what is reported; the first is the one that counts.
	Rows []Row
	// Measure does the work once, on an empty server.
	Measure Measure
	// Trial is measured instead to find how many jobs a contender does in a turn, nil
	// for Measure.
	Trial Measure
}

// Measure does a piece of work with so many jobs, on an empty server.
type Measure func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error)

// Row is one figure of a case.
type Row struct {
	Metric stage.Metric
	Title  string
	// Less says that less is better.
	Less bool
}

// All are run and reported in this order.
var All = []Case{
	singles(50), singles(10), singles(1), singles(1000),
	bulk, drain, bothSingle, bothBulk, pickup, instant,
	memoryQueued, memoryScheduled, memoryFinished,
	sleeping, idle,
	payload("1 KiB", 1<<10, 200_000), payload("64 KiB", 64<<10, 5_000),
	unique, retries, punctual, latency(50), latency(80),
}

// Pick returns the cases named in a comma-separated list, in the order of all; all
// of them, or all quick ones, for an empty list. With growth they are those of Growth,
// and a name can be that of a curve.
func Pick(list string, quick, growth bool) ([]Case, error) {
	wanted, curves := map[string]bool{}, map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if list != "" {
			wanted[strings.TrimSpace(name)] = true
		}
	}
	all := All
	if growth {
		all, quick = Growth, false
	}
	var picked []Case
	for _, c := range all {
		if list == "" && (c.Quick || !quick) || wanted[c.Name] || c.Curve != "" && wanted[c.Curve] {
			picked = append(picked, c)
			delete(wanted, c.Name)
			curves[c.Curve] = true
		}
	}
	for curve := range curves {
		delete(wanted, curve)
	}
	for name := range wanted {
		return nil, fmt.Errorf("no case is named %q: there are %s", name, strings.Join(Names(all), ", "))
	}
	return picked, nil
}

// Names are the names of cases.
func Names(of []Case) []string {
	names := make([]string, len(of))
	for i, c := range of {
		names[i] = c.Name
	}
	return names
}

// costs are the rows that every rate has.
func costs() []Row {
	return []Row{
		{stage.ServerMicros, "server µs/job", true},
		{stage.ClientMicros, "client µs/job", true},
		{stage.Allocations, "client allocs/job", true},
	}
}

func rate(title string) []Row {
	return append([]Row{{stage.JobsPerSecond, title, false}}, costs()...)
}
