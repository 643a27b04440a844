// Command bench measures Cyclone against its floor: bare go-redis calls of the
// least that its protocol has to do, on the same server, in the same run.
//
//	go run ./bench                    every case, against a redis-server of its own
//	go run ./bench --quick            small sizes, one round: does it run at all?
//	go run ./bench --only drain,both  some cases
//	go run ./bench --json             one JSON document on standard output
//
// It prints ratios, since absolute figures drift with the machine. What each
// row means is in docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/floor"
	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

// settings are the command line.
type settings struct {
	json        bool
	redisURL    string
	quick       bool
	only        string
	rounds      int
	concurrency int
	cpuProfile  string
}

const (
	fullRounds  = 5
	quickRounds = 1
	// defaultConcurrency is as many steps as the floor has in flight.
	defaultConcurrency = floor.Batch * floor.Connections

	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// program runs the command line and returns the exit code: 0 when everything
// was measured, whether or not the targets are met.
func program(ctx context.Context, args []string, out, progress io.Writer) int {
	s, err := parse(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return exitUsage // the flag package has said why
	}
	cases, err := pick(s.only)
	if err != nil {
		fmt.Fprintln(progress, "bench:", err)
		return exitUsage
	}
	if err := profiled(s.cpuProfile, func() error { return bench(ctx, s, cases, out, progress) }); err != nil {
		fmt.Fprintln(progress, "bench:", err)
		return exitFailure
	}
	return 0
}

func parse(args []string, errors io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errors)
	flags.BoolVar(&s.json, "json", false, "print one JSON document instead of a table")
	flags.StringVar(&s.redisURL, "redis", "", "`URL` of an empty database, which is flushed; default: a redis-server of its own")
	flags.BoolVar(&s.quick, "quick", false, "small sizes and one round")
	flags.StringVar(&s.only, "only", "", "comma-separated `names` of cases: "+strings.Join(caseNames(), ", "))
	flags.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf("rounds of floor and Cyclone per case (default %d, quick %d)", fullRounds, quickRounds))
	flags.IntVar(&s.concurrency, "concurrency", defaultConcurrency, "handlers that Cyclone's worker runs at once")
	flags.StringVar(&s.cpuProfile, "cpuprofile", "", "write a processor profile of this process to `FILE`")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	var bad error
	switch {
	case flags.NArg() > 0:
		bad = fmt.Errorf("no arguments are taken: %q", flags.Args())
	case s.rounds < 0:
		bad = fmt.Errorf("--rounds must not be negative: %d", s.rounds)
	case s.concurrency < 1:
		bad = fmt.Errorf("--concurrency must be at least 1: %d", s.concurrency)
	}
	if bad != nil {
		fmt.Fprintln(errors, "bench:", bad)
	}
	if s.rounds == 0 {
		if s.rounds = fullRounds; s.quick {
			s.rounds = quickRounds
		}
	}
	return s, bad
}

// bench measures the cases on the server that the settings name.
func bench(ctx context.Context, s settings, cases []benchCase, out, progress io.Writer) (err error) {
	options, stop, err := connectTo(ctx, s.redisURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	sizes := fullSize
	if s.quick {
		sizes = quickSize
	}
	l, err := newLab(ctx, options, sizes, s.concurrency)
	if err != nil {
		return err
	}
	defer l.close()
	host, err := describe(ctx, l.admin)
	if err != nil {
		return err
	}
	figures, err := (&runner{lab: l, rounds: s.rounds, progress: progress}).run(ctx, cases)
	if err != nil {
		return err
	}
	r := report{
		Machine: host, PayloadBytes: payloadBytes, Concurrency: s.concurrency,
		Rounds: s.rounds, Quick: s.quick, Figures: figures,
	}
	if s.json {
		return r.writeJSON(out)
	}
	fmt.Fprintln(progress)
	return r.writeTable(out)
}

// connectTo returns the options of the named server, or of one that it starts;
// stop ends what it started.
func connectTo(ctx context.Context, url string) (options *redis.Options, stop func() error, err error) {
	if url != "" {
		options, err = redis.ParseURL(url)
		return options, func() error { return nil }, err
	}
	s, err := redisserver.Start(ctx, false)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; --redis URL names another server", err)
	}
	return &redis.Options{Addr: s.Address}, s.Stop, nil
}
