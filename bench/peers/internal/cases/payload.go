package cases

import (
	"context"
	"strings"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// payload measures both ways with payloads of another size: the contender's fastest
// enqueue, and the drain of what that has left.
func payload(name string, bytes, most int) Case {
	return Case{
		Name: "payload-" + strings.ReplaceAll(name, " ", ""), Title: "payloads of " + name + ": fastest enqueue, then drain", Most: most, Scaled: true,
		Rows: []Row{
			{stage.JobsPerSecond, "drained/s", false},
			{stage.EnqueuedPerSecond, "enqueued/s", false},
		},
		Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
			purpose := contender.ForSingles
			if s.Can.Has(contender.Bulk) {
				purpose = contender.ForBulk
			}
			order := s.Fastest(wire.Produce{Jobs: jobs, Bytes: bytes})
			order.Batch = min(order.Batch, largestBatchBytes/bytes)
			filled, err := enqueued(ctx, s, purpose, order)
			if err != nil {
				return nil, err
			}
			sample, err := drained(ctx, s, contender.ForDrain, wire.Produce{}, wire.Work{Expect: jobs}, map[string]int{wire.Bytes: bytes})
			if err == nil {
				sample[stage.EnqueuedPerSecond] = filled[stage.JobsPerSecond]
			}
			return sample, err
		},
	}
}

// largestBatchBytes keeps one bulk call at a size that no server refuses.
const largestBatchBytes = 4 << 20
