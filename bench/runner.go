package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
)

// measurementTimeout bounds every single measurement.
const measurementTimeout = 5 * time.Minute

// runner runs cases and tells on progress what it is doing.
type runner struct {
	lab      *lab
	rounds   int
	progress io.Writer
}

// rounds holds the samples of one case: floor and Cyclone of one round share an index.
type rounds struct {
	floor, cyclone []sample
}

// run measures the cases one after the other.
func (r *runner) run(ctx context.Context, cases []benchCase) ([]result, error) {
	var results []result
	for i, c := range cases {
		n := r.rounds
		if c.maxRounds > 0 {
			n = min(n, c.maxRounds)
		}
		fmt.Fprintf(r.progress, "[%d/%d] %s: %s\n", i+1, len(cases), c.name, c.about)
		var all rounds
		for round := range n {
			if err := r.round(ctx, c, round, n, &all); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		results = append(results, summarize(c, all)...)
	}
	return results, r.lab.clear(ctx)
}

// round measures both sides; who goes first alternates, so that neither always
// meets the warmer machine.
func (r *runner) round(ctx context.Context, c benchCase, round, of int, all *rounds) error {
	floor := func() error { return r.measure(ctx, "floor", c.floor, &all.floor) }
	cyclone := func() error { return r.measure(ctx, "Cyclone", c.cyclone, &all.cyclone) }
	order := []func() error{floor, cyclone}
	if round%2 == 1 {
		order = []func() error{cyclone, floor}
	}
	for _, side := range order {
		if err := side(); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.progress, "      round %d of %d", round+1, of)
	first := c.figures[0].metric
	if len(all.floor) > round {
		fmt.Fprintf(r.progress, "   floor %s", figures.Number(all.floor[round][first]))
	}
	if len(all.cyclone) > round {
		fmt.Fprintf(r.progress, "   Cyclone %s", figures.Number(all.cyclone[round][first]))
	}
	fmt.Fprintln(r.progress)
	return nil
}

func (r *runner) measure(ctx context.Context, side string, measure measurement, into *[]sample) error {
	if measure == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, measurementTimeout)
	defer cancel()
	if err := r.lab.clear(ctx); err != nil {
		return err
	}
	s, err := measure(ctx, r.lab)
	if err != nil {
		return fmt.Errorf("%s: %w", side, err)
	}
	*into = append(*into, s)
	return nil
}
