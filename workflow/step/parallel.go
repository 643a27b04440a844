package step

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Parallel calls the functions at the same time, each in a goroutine, and returns
// when all have ended: nil, the error of the only one that failed, or the errors of
// all of them joined in the order of fns. An error ends nothing early. Recorded steps
// in different functions need different names.
//
// When a step in any of them has suspended the attempt, Parallel waits for the others
// and then ends the calling goroutine as well. That is what makes it safe where a
// plain sync.WaitGroup or errgroup would go on as though all had succeeded. When a
// function panics, Parallel panics with its value after all have ended.
func Parallel(ctx context.Context, fns ...func(ctx context.Context) error) error {
	ends := make([]end, len(fns))
	var all sync.WaitGroup
	for i, fn := range fns {
		all.Go(func() { ends[i].run(ctx, fn) })
	}
	all.Wait()
	var errs []error
	gone := false
	for i := range ends {
		switch e := &ends[i]; {
		case e.panicked != nil:
			panic(e.panicked)
		case !e.returned:
			gone = true
		case e.err != nil:
			errs = append(errs, e.err)
		}
	}
	switch {
	case gone:
		runtime.Goexit()
	case len(errs) == 1:
		return errs[0]
	}
	return errors.Join(errs...)
}

// end is how one function ended: with neither returned nor panicked set, its
// goroutine did.
type end struct {
	returned bool
	err      error
	panicked error
}

func (e *end) run(ctx context.Context, fn func(context.Context) error) {
	defer func() {
		if v := recover(); v != nil {
			e.panicked = parallelPanic(v)
		}
	}()
	e.err = fn(ctx)
	e.returned = true
}

// parallelPanic keeps the stack that a panic in another goroutine has lost.
func parallelPanic(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("%w\n\n%s", err, debug.Stack())
	}
	return fmt.Errorf("%v\n\n%s", v, debug.Stack())
}
