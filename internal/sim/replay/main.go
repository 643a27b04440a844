// Command replay plays seeds of the simulation so that a seed goes the same way each
// time, whole workers included.
//
//	go run ./internal/sim/replay -from 17 -log 200
//
// Natively the goroutines of a worker meet at single instants, where the scheduler
// decides who goes on, each time anew. So the tests of internal/sim are built for
// WebAssembly, where a Go program has one thread and nothing interrupts a goroutine, and
// are given clocks and random numbers that are always the same. That takes eight times
// as long. Each seed is played twice and has to do the same twice.
//
// The exit code is 1 when a seed fails or differs from itself, 2 when none can be played.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
)

func main() {
	var p play
	flag.Uint64Var(&p.from, "from", 1, "the first seed")
	flag.IntVar(&p.seeds, "seeds", 1, "how many seeds")
	flag.StringVar(&p.driver, "driver", "engine", "who works: engine (whole workers) or store")
	flag.IntVar(&p.log, "log", 100, "how many of the latest changes a failure shows")
	flag.IntVar(&p.jobs, "j", runtime.NumCPU(), "how many to play at a time")
	flag.Parse()
	err := p.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
	}
	switch {
	case errors.Is(err, errBroken):
		os.Exit(1)
	case err != nil:
		os.Exit(2)
	}
}

// play is what the command line asks for.
type play struct {
	from             uint64
	seeds, log, jobs int
	driver           string
}

// errBroken says that a seed failed, or did not do the same twice.
var errBroken = errors.New("not all seeds held")

func (p *play) run() error {
	if p.driver != "engine" && p.driver != "store" || p.seeds < 1 || p.jobs < 1 || p.log < 1 {
		return errors.New("-driver is engine or store; -seeds, -j and -log are at least 1")
	}
	fmt.Fprintln(os.Stderr, "building the simulation for WebAssembly, which takes a minute or two the first time")
	m, err := build()
	if err != nil {
		return err
	}
	defer m.close()
	var all sync.WaitGroup
	var mu sync.Mutex
	room := make(chan struct{}, p.jobs)
	for seed := p.from; seed < p.from+uint64(p.seeds); seed++ {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			text, failed := p.twice(m, seed)
			mu.Lock()
			defer mu.Unlock()
			fmt.Printf("seed %d: %s\n", seed, text)
			err = errors.Join(err, failed)
		})
	}
	all.Wait()
	return err
}

// twice plays a seed two times and returns what to say of it.
func (p *play) twice(m *machine, seed uint64) (string, error) {
	args := []string{
		"-test.v", "-test.timeout=0", "-test.run=^TestSeeds$", "-seeds=1",
		"-driver=" + p.driver, fmt.Sprintf("-from=%d", seed), fmt.Sprintf("-log=%d", p.log),
	}
	once, err := m.play(args)
	if err != nil {
		return "cannot be played", err
	}
	again, err := m.play(args)
	switch {
	case err != nil:
		return "cannot be played again", err
	case once.output != again.output:
		return fmt.Sprintf("differs from itself\n--- once\n%s--- again\n%s", once.output, again.output), errBroken
	case once.code != 0:
		return "fails, twice the same\n" + once.output, errBroken
	}
	return "twice " + summary(once.output), nil
}
