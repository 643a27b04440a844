package model

import (
	"errors"
	"fmt"
	"hash/maphash"
)

// Successors calls visit with every action that is possible in a state and the
// state that it leads to.
type Successors[S, A any] func(s S, visit func(action A, next S))

// Report is what a search has found.
type Report struct {
	// States is the number of different states, Moves that of the actions that
	// lead from one to another, Depth the longest way to the nearest.
	States, Moves, Depth int
	// Bad is the number of states that a check refused; Err is the reason for the
	// first of them and Path the shortest way there.
	Bad  int
	Err  error
	Path []string
}

func (r Report) String() string {
	return fmt.Sprintf("%d states, %d moves, depth %d, %d bad", r.States, r.Moves, r.Depth, r.Bad)
}

// Bounds end a search early.
type Bounds struct {
	// States is the most states, 0 for no limit; more are an error of the report.
	States int
	// First ends the search at the first bad state.
	First bool
}

// Explore visits all states that can be reached from start, breadth first, and
// checks each. A state is known by 128 bits of hash.
func Explore[S comparable, A fmt.Stringer](start S, next Successors[S, A], check func(S) error, b Bounds) Report {
	e := explorer[S, A]{seen: map[[2]uint64]struct{}{}, check: check, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	var none A
	e.add(start, -1, none)
	for from := 0; from < e.report.States; {
		level := e.frontier
		e.frontier = nil
		e.report.Depth++
		for _, s := range level {
			next(s, func(action A, to S) {
				e.report.Moves++
				e.add(to, from, action)
			})
			from++
			if b.First && e.report.Bad > 0 {
				return e.report
			}
			if b.States > 0 && e.report.States > b.States {
				e.report.Err = errors.Join(e.report.Err, fmt.Errorf("model: more than %d states", b.States))
				return e.report
			}
		}
	}
	e.report.Depth--
	return e.report
}

type explorer[S comparable, A fmt.Stringer] struct {
	seen     map[[2]uint64]struct{}
	seeds    [2]maphash.Seed
	frontier []S
	ways     []way[A] // of every state, how it was reached
	check    func(S) error
	report   Report
}

type way[A any] struct {
	from   int32
	action A
}

func (e *explorer[S, A]) add(s S, from int, action A) {
	key := [2]uint64{maphash.Comparable(e.seeds[0], s), maphash.Comparable(e.seeds[1], s)}
	if _, known := e.seen[key]; known {
		return
	}
	e.seen[key] = struct{}{}
	e.report.States++
	e.frontier = append(e.frontier, s)
	e.ways = append(e.ways, way[A]{from: int32(from), action: action})
	if err := e.check(s); err != nil {
		e.report.Bad++
		if e.report.Err == nil {
			e.report.Err, e.report.Path = err, e.path()
		}
	}
}

// path tells how the newest state was reached.
func (e *explorer[S, A]) path() []string {
	var back []string
	for i := len(e.ways) - 1; e.ways[i].from >= 0; i = int(e.ways[i].from) {
		back = append(back, e.ways[i].action.String())
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
