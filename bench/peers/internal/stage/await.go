package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// awaitMargin is left of a piece's time when waiting for handlers is given up, to
// hear how many have run.
const awaitMargin = 2 * time.Second

// Await waits until a worker has handled so many jobs, and fails when it handles
// fewer in time or more than that.
func (s *Stage) Await(ctx context.Context, c *contender.Client, order wire.Await) (*wire.Handled, error) {
	handled, err := s.await(ctx, c, order)
	if err == nil && handled.Jobs != order.Jobs {
		err = fmt.Errorf("%d of %d jobs were handled in time", handled.Jobs, order.Jobs)
	}
	return handled, err
}

// AwaitAtLeast is Await for a worker that goes on.
func (s *Stage) AwaitAtLeast(ctx context.Context, c *contender.Client, jobs int) (*wire.Handled, error) {
	handled, err := s.await(ctx, c, wire.Await{Jobs: jobs})
	if err == nil && handled.Jobs < jobs {
		err = fmt.Errorf("%d of %d jobs were handled in time", handled.Jobs, jobs)
	}
	return handled, err
}

func (s *Stage) await(ctx context.Context, c *contender.Client, order wire.Await) (*wire.Handled, error) {
	if order.Limit == 0 {
		deadline, ok := ctx.Deadline()
		if !ok {
			return nil, errors.New("await: no deadline")
		}
		order.Limit = max(1, time.Until(deadline).Milliseconds()-awaitMargin.Milliseconds())
	}
	reply, err := c.Call(ctx, wire.Command{Op: wire.OpAwait, Await: &order})
	if err == nil && reply.Handled == nil {
		err = errors.New("await: no answer in the reply")
	}
	return reply.Handled, err
}

// togetherLimit is how long each of several workers is listened to in turn, in ms.
const togetherLimit = 2

// AwaitTogether waits until several workers have handled so many jobs between them
// and returns when the last one was.
func (s *Stage) AwaitTogether(ctx context.Context, clients []*contender.Client, jobs int) (last int64, err error) {
	for {
		total := 0
		for _, c := range clients {
			handled, err := s.await(ctx, c, wire.Await{Jobs: jobs, Limit: togetherLimit})
			if err != nil {
				return 0, err
			}
			total += handled.Jobs
			last = max(last, handled.Last)
		}
		switch {
		case total == jobs:
			return last, nil
		case total > jobs:
			return 0, fmt.Errorf("%d jobs were handled, not %d", total, jobs)
		case ctx.Err() != nil:
			return 0, fmt.Errorf("%d of %d jobs were handled in time", total, jobs)
		}
	}
}
