package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yuin/gopher-lua/parse"
)

// config is the command line.
type config struct {
	files, engine, run string
	list, verbose      bool
	jobs, line         int
	timeout            time.Duration
}

func main() {
	var c config
	flag.StringVar(&c.files, "files", "", "only these sources, as in turn.lua,lib/wake.lua")
	flag.IntVar(&c.line, "line", 1, "only changes from this line of each source on: where a run was stopped")
	flag.StringVar(&c.engine, "engine", "", "packages whose tests run on what is left, as in ./queue,./worker")
	flag.StringVar(&c.run, "run", "", "only these tests of the engine's packages, as a regular expression")
	flag.BoolVar(&c.list, "list", false, "list the changes and run nothing")
	flag.BoolVar(&c.verbose, "v", false, "name each change and the test that caught it")
	flag.IntVar(&c.jobs, "j", runtime.NumCPU(), "changes to try at a time")
	flag.DurationVar(&c.timeout, "timeout", 30*time.Second, "time for the tests of one package")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := mutate(ctx, &c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

func mutate(ctx context.Context, c *config) (survivors int, err error) {
	l, err := newLab(c.timeout)
	if err != nil {
		return 0, err
	}
	defer l.close()
	all, same, err := l.collect(c.files)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(m *mutant) bool {
		number, _ := m.line()
		return number < c.line
	})
	if c.list {
		for _, m := range all {
			fmt.Println(m)
		}
		fmt.Printf("%d changes, %d more make no difference\n", len(all), same)
		return 0, nil
	}
	stages, err := l.stages(c)
	if err != nil {
		return 0, err
	}
	if err := l.check(ctx, stages); err != nil {
		return 0, err
	}
	begun := time.Now()
	caught := map[string]int{}
	left := all
	for _, s := range stages {
		var got []*mutant
		got, left, err = l.try(ctx, s, left, c)
		if err != nil {
			return 0, err
		}
		caught[s.name] = len(got)
	}
	for _, s := range stages {
		fmt.Printf("%-28s caught %d\n", s.name, caught[s.name])
	}
	for _, m := range left {
		fmt.Println("survived", m)
	}
	fmt.Printf("%d of %d caught in %v; %d more changes make no difference\n",
		len(all)-len(left), len(all), time.Since(begun).Round(time.Second), same)
	return len(left), nil
}

// collect returns the changes to try and the number of those that make no difference.
func (l *lab) collect(only string) (all []*mutant, same int, err error) {
	var wanted []string
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	equivalents := newEquivalents()
	names := make([]string, 0, len(l.files))
	for file := range l.files {
		names = append(names, file)
	}
	slices.Sort(names)
	for _, file := range names {
		if wanted != nil && !slices.Contains(wanted, file) {
			continue
		}
		for _, m := range mutants(file, l.files[file]) {
			if _, err := parse.Parse(strings.NewReader(m.apply()), file); err != nil {
				return nil, 0, fmt.Errorf("%v\nis no Lua: %w", m, err)
			}
			if equivalents.has(m) {
				same++
				continue
			}
			all = append(all, m)
		}
	}
	if wanted == nil {
		err = equivalents.unused()
	}
	return all, same, err
}

// stages builds the tests: package luascripts on Redis, then on all servers, then
// the engine.
func (l *lab) stages(c *config) ([]stage, error) {
	binary, err := l.build(scriptsPackage)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(l.root, scriptsPackage)
	stages := []stage{
		{name: scriptsPackage + " on redis", binary: binary, dir: dir, run: ".", skip: skipSources + "|" + skipOthers},
		{name: scriptsPackage + " everywhere", binary: binary, dir: dir, run: ".", skip: skipSources},
	}
	for pkg := range strings.SplitSeq(c.engine, ",") {
		if pkg == "" {
			continue
		}
		binary, err := l.build(pkg)
		if err != nil {
			return nil, err
		}
		run := c.run
		if run == "" {
			run = "."
		}
		stages = append(stages, stage{name: pkg, binary: binary, dir: filepath.Join(l.root, pkg), run: run})
	}
	return stages, nil
}

// check makes sure that every stage passes on unchanged sources.
func (l *lab) check(ctx context.Context, stages []stage) error {
	dir, err := l.write(nil)
	if err != nil {
		return err
	}
	for _, s := range stages {
		if failed, out, err := l.fails(ctx, s, dir); err != nil || failed {
			return fmt.Errorf("%s fails without a change: %w\n%s", s.name, err, out)
		}
	}
	return nil
}

// try runs a stage on each change and tells those that were caught from the others.
func (l *lab) try(ctx context.Context, s stage, all []*mutant, c *config) (caught, left []*mutant, err error) {
	var mu sync.Mutex
	done := 0
	var group sync.WaitGroup
	slots := make(chan struct{}, c.jobs)
	for _, m := range all {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			failed, by, runErr := l.one(ctx, s, m)
			mu.Lock()
			defer mu.Unlock()
			if done++; done%50 == 0 {
				fmt.Fprintf(os.Stderr, "%s: %d of %d\n", s.name, done, len(all))
			}
			switch {
			case runErr != nil:
				err = runErr
			case failed:
				caught = append(caught, m)
				if c.verbose {
					fmt.Printf("%s, %s caught %v\n", s.name, by, m)
				}
			default:
				left = append(left, m)
			}
		})
	}
	group.Wait()
	return caught, left, err
}

// one runs a stage on one change and tells whether, and by which test, it was caught.
func (l *lab) one(ctx context.Context, s stage, m *mutant) (failed bool, by string, err error) {
	dir, err := l.write(m)
	if err != nil {
		return false, "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	failed, out, err := l.fails(ctx, s, dir)
	return failed, witness(out), err
}
