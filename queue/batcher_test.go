package queue

import (
	"context"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
)

// Callers that may give up and callers that never do share script calls. Whoever sends, each of them is answered with
// its own ids and everything is stored once.
func TestCallersShareCalls(t *testing.T) {
	everywhere(t, func(l *lab) {
		const callers, calls, many = 20, 25, 600
		var seen sync.Map
		enqueue := func(ctx context.Context, n int) {
			requests := make([]cyclone.Request, n)
			for i := range requests {
				requests[i] = mail.With("x")
			}
			receipts, err := l.client.Enqueue(ctx, requests...)
			if err != nil {
				l.Error(err)
			}
			for _, r := range receipts {
				if _, twice := seen.LoadOrStore(r.ID, true); twice || r.ID == 0 {
					l.Errorf("id %d was given twice", r.ID)
				}
			}
		}
		var all sync.WaitGroup
		for i := range callers {
			ctx := l.ctx
			if i%2 == 0 {
				ctx = context.Background()
			}
			all.Go(func() {
				for range calls {
					enqueue(ctx, 1)
				}
				enqueue(ctx, many)
			})
		}
		all.Wait()
		stats, err := l.client.Stats(l.ctx, 0)
		l.ok(err)
		if got := stats.Totals[cyclone.EventEnqueued]; got != callers*(calls+many) {
			l.Errorf("%d steps were enqueued, want %d", got, callers*(calls+many))
		}
	})
}
