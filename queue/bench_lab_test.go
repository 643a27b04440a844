package queue

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// benchBatch is how many steps the benchmarks of batches have at once.
const benchBatch = 100

// benchLab has steps that a worker holds, and the reply in which it got them: what is
// measured then needs no server.
type benchLab struct {
	*testing.B
	store   *Store
	part    *partition
	request *TurnRequest
	reply   []any
	claimed []Claimed
}

// newBenchLab has a worker claim what enqueue leaves, a batch of steps.
func newBenchLab(b *testing.B, enqueue func(ctx context.Context, c *Client) error) *benchLab {
	b.Helper()
	l := &benchLab{B: b}
	server, err := embedded.InProcess()
	l.ok(err)
	b.Cleanup(server.Close)
	rdb := server.Client()
	b.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(&overhear{script: luascripts.Turn, reply: &l.reply})
	c, err := NewClient(rdb, Config{})
	l.ok(err)
	b.Cleanup(func() { _ = c.Close() })
	l.ok(enqueue(b.Context(), c))
	d, err := c.join(b.Context())
	l.ok(err)
	l.store, l.part = NewStore(c, "w1"), d.parts[0]
	l.request = &TurnRequest{
		Lease: time.Minute, Wanted: benchBatch, Queues: []Room{{"default", benchBatch}}, Claim: []Quota{{"default", cyclone.Default, benchBatch}},
	}
	reply, err := l.store.Turn(b.Context(), l.request)
	l.ok(err)
	if l.claimed = reply.Claimed; len(l.claimed) != benchBatch {
		b.Fatalf("%d steps claimed, want %d", len(l.claimed), benchBatch)
	}
	return l
}

func (l *benchLab) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// perStep reports what the benchmark has cost for each step of its batch.
func (l *benchLab) perStep() {
	l.ReportMetric(float64(l.Elapsed().Nanoseconds())/float64(l.N)/benchBatch, "ns/step")
}

// overhear keeps the last reply of a script.
type overhear struct {
	script *luascripts.Script
	reply  *[]any
}

func (o *overhear) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o *overhear) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && (args[1] == o.script.SHA || args[1] == o.script.Source) {
			if c, ok := cmd.(*redis.Cmd); ok && err == nil {
				*o.reply, _ = c.Val().([]any)
			}
		}
		return err
	}
}

func (o *overhear) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
