// Command peers measures Cyclone, the floor of bare scripts and other job queues on
// the same work, in turns, in one run on one machine, and prints the ratios.
//
//	cd bench/peers
//	go run .                                 everything that is installed
//	go run . -quick                          Cyclone, the floor and asynq, in a minute
//	go run . -only drain,bulk                some cases
//	go run . -contenders cyclone,asynq,nats  some contenders
//	go run . -aof                            all servers sync to disk every second
//	go run . -json > run.json                every round of every figure
//	go run . -svg DIR                        charts as well
//	go run . -growth                         the same with ever more of something beside
//
// It starts its own servers on loopback, in temporary folders, and ends them. What
// the rows mean is in docs/performance.md.
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
	"syscall"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/cases"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/libs"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
)

// settings are the command line.
type settings struct {
	quick, json, aof bool
	growth           bool
	only, contenders string
	rounds           int
	limit            time.Duration
	svg              string
}

const (
	fullRounds  = 5
	quickRounds = 1
	// defaultLimit is what a whole run takes on a quiet machine of two cores.
	defaultLimit = 25 * time.Minute

	exitFailure = 1
	exitUsage   = 2
)

func main() {
	if code, child := child(); child {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// child is this program as a child process of itself, when its environment says so. It
// leaves when its input ends, and not by the interrupt that a terminal sends to all.
func child() (code int, child bool) {
	library, nats := os.Getenv(contender.LibraryVariable), os.Getenv(server.NATSVariable)
	if library == "" && nats == "" {
		return 0, false
	}
	signal.Ignore(os.Interrupt)
	if nats != "" {
		return exitCode(server.RunNATS(nats, os.Stdin)), true
	}
	return serve(library), true
}

// serve is the client process of a contender.
func serve(name string) int {
	library, ok := libs.All[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no library is named %q\n", name)
		return exitUsage
	}
	return exitCode(client.Serve(context.Background(), library.Open, library.Module, os.Stdin, os.Stdout))
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	return 0
}

// program runs the command line and returns the exit code: 0 when something was
// measured of every case, whether or not the targets are met.
func program(ctx context.Context, args []string, out, progress io.Writer) int {
	s, err := parse(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return exitUsage // parse has said why
	}
	if err := measure(ctx, s, out, progress); err != nil {
		fmt.Fprintln(progress, "peers:", err)
		if errors.Is(err, errUsage) {
			return exitUsage
		}
		return exitFailure
	}
	return 0
}

var errUsage = errors.New("wrong command line")

func parse(args []string, errors io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(errors)
	flags.BoolVar(&s.quick, "quick", false, "small sizes and one round of Cyclone, the floor and asynq, unless others are named")
	flags.BoolVar(&s.json, "json", false, "print one JSON document instead of tables")
	flags.BoolVar(&s.aof, "aof", false, "all servers sync to disk every second, or do what comes closest")
	flags.BoolVar(&s.growth, "growth", false, "measure what becomes of figures when something else grows, instead of the cases")
	flags.StringVar(&s.only, "only", "", "comma-separated `names` of cases: "+strings.Join(cases.Names(cases.All), ", "))
	flags.StringVar(&s.contenders, "contenders", "", "comma-separated `names` of contenders: "+strings.Join(contender.Names(), ", "))
	flags.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf("rounds of every case (default %d, quick %d)", fullRounds, quickRounds))
	flags.DurationVar(&s.limit, "limit", defaultLimit, "cases that take more than their share of this time have 3 rounds; 0 for no limit")
	flags.StringVar(&s.svg, "svg", "", "write charts into the folder `DIR`")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	var bad error
	switch {
	case flags.NArg() > 0:
		bad = fmt.Errorf("no arguments are taken: %q", flags.Args())
	case s.rounds < 0:
		bad = fmt.Errorf("-rounds must not be negative: %d", s.rounds)
	case s.limit < 0:
		bad = fmt.Errorf("-limit must not be negative: %s", s.limit)
	}
	if bad != nil {
		fmt.Fprintln(errors, "peers:", bad)
	}
	if s.rounds == 0 {
		if s.rounds = fullRounds; s.quick {
			s.rounds = quickRounds
		}
	}
	return s, bad
}
