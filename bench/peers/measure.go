package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/machine"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/cases"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/report"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/run"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// quickContenders take part in a quick run, and where things grow.
var quickContenders = strings.Join([]string{contender.Cyclone, contender.Floor, contender.Asynq}, ",")

// measure runs the cases and prints the report, also of what was measured before an
// interruption.
func measure(ctx context.Context, s settings, out, progress io.Writer) error {
	chosen, err := cases.Pick(s.only, s.quick, s.growth)
	if err != nil {
		return errors.Join(errUsage, err)
	}
	if s.contenders == "" && (s.quick || s.growth) {
		s.contenders = quickContenders
	}
	contenders, err := contender.Pick(s.contenders)
	if err != nil {
		return errors.Join(errUsage, err)
	}
	scale := stage.Full
	switch {
	case s.growth && s.quick:
		scale = stage.QuickGrowth
	case s.growth:
		scale = stage.Growth
	case s.quick:
		scale = stage.Quick
	}
	return measureAt(ctx, s, scale, chosen, contenders, out, progress)
}

func measureAt(ctx context.Context, s settings, scale stage.Scale, chosen []cases.Case, contenders []contender.Contender, out, progress io.Writer) (err error) {
	began := time.Now()
	r := report.Report{Machine: machine.Describe(), Persistent: s.aof, Quick: s.quick, Rounds: s.rounds}
	runner := &run.Runner{Scale: scale, Rounds: s.rounds, Progress: progress}
	defer func() {
		for _, stage := range runner.Stages {
			err = errors.Join(err, stage.Close())
		}
	}()
	for _, c := range contenders {
		if s.aof && c.Name == contender.CycloneAOF {
			continue // all are
		}
		opened, err := open(ctx, c, server.Options{Persist: s.aof}, scale)
		if err != nil {
			r.LeftOut = append(r.LeftOut, report.LeftOut{Name: c.Name, Why: err.Error()})
			fmt.Fprintf(progress, "left out: %s: %v\n", c.Name, err)
			continue
		}
		runner.Stages = append(runner.Stages, opened)
	}
	if len(runner.Stages) == 0 {
		return errors.New("nobody can take part")
	}
	interrupted := runCases(ctx, runner, s.limit, chosen, &r)
	r.Seconds = time.Since(began).Seconds()
	r.Contenders = described(runner.Stages)
	r.Targets = report.Judge(r.Results)
	fmt.Fprintln(progress)
	write := r.WriteText
	if s.json {
		write = r.WriteJSON
	}
	err = errors.Join(interrupted, write(out))
	if s.svg != "" {
		err = errors.Join(err, r.WriteSVG(s.svg))
	}
	return err
}

func open(ctx context.Context, c contender.Contender, o server.Options, scale stage.Scale) (*stage.Stage, error) {
	if err := c.Missing(); err != nil {
		return nil, err
	}
	return stage.Open(ctx, c, o, scale)
}

func runCases(ctx context.Context, runner *run.Runner, limit time.Duration, chosen []cases.Case, r *report.Report) error {
	began := time.Now()
	for i, c := range chosen {
		// A case may take twice its share of the time that is left.
		share := (limit - time.Since(began)) / time.Duration(len(chosen)-i)
		begun := time.Now()
		runner.Late = func() bool { return limit > 0 && time.Since(begun) > 2*share }
		fmt.Fprintf(runner.Progress, "[%d/%d, %s] %s: %s\n", i+1, len(chosen), time.Since(began).Round(time.Second), c.Name, c.Title)
		result, err := runner.Run(ctx, c)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, result)
	}
	return nil
}

// described says who took part and with what settings.
func described(stages []*stage.Stage) []report.Contender {
	var all []report.Contender
	for _, s := range stages {
		c := report.Contender{
			Name: s.Name, Guarantee: s.Guarantee, About: s.About,
			Server: s.Server.Version(), Library: s.LibraryVersion, Settings: map[string]string{},
		}
		for purpose := range s.Tries {
			c.Settings[string(purpose)] = s.Settings(purpose).Name
		}
		all = append(all, c)
	}
	return all
}
