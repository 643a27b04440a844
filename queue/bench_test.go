package queue

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

var benchInput = strings.Repeat("x", 98)

// BenchmarkBatcher enqueues single jobs through the group commit, to a real server: with one
// caller each is a call of its own, with fifty they share them.
func BenchmarkBatcher(b *testing.B) {
	for _, callers := range []int{1, 50} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			rdb := testserver.Real(b).NewClient(b)
			c, err := NewClient(rdb, Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			enqueue := func() error {
				_, err := c.Enqueue(b.Context(), mail.With(benchInput))
				return err
			}
			if err := enqueue(); err != nil { // joins the deployment and opens a lane
				b.Fatal(err)
			}
			b.ReportAllocs()
			if callers == 1 {
				for b.Loop() {
					if err := enqueue(); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := enqueue(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkBatchBuild makes the call that stores a batch of jobs.
func BenchmarkBatchBuild(b *testing.B) {
	l := newBenchLab(b, enqueueMails)
	items := make([]item, benchBatch)
	waiting := make([]*item, benchBatch)
	for i := range items {
		l.ok(l.store.client.prepare(&items[i], mail.With(benchInput).Spec()))
		waiting[i] = &items[i]
	}
	var sender batchSender
	lane := &lane{name: "l", ids: idBlock{1, 1 << 40}}
	b.ReportAllocs()
	for b.Loop() {
		sender.build(l.part, lane, waiting)
	}
	l.perStep()
}

// BenchmarkPrepare checks and encodes one request.
func BenchmarkPrepare(b *testing.B) {
	l := newBenchLab(b, enqueueMails)
	request := mail.With(benchInput)
	b.ReportAllocs()
	for b.Loop() {
		var it item
		if err := l.store.client.prepare(&it, request.Spec()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClaimDecode reads the reply of a turn that claims a batch, from what
// go-redis makes of it to the steps that attempts are made of.
func BenchmarkClaimDecode(b *testing.B) {
	l := newBenchLab(b, enqueueMails)
	var t turn
	t.build(l.part, "w1", l.request)
	sent := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		t.read(b.Context(), l.reply, sent)
	}
	l.perStep()
}

// BenchmarkSettle makes the call that settles a batch and claims another one.
func BenchmarkSettle(b *testing.B) {
	l := newBenchLab(b, enqueueMails)
	now := time.Now()
	for _, bc := range []struct {
		name   string
		settle func(c *Claimed) Settlement
	}{
		{"complete", func(c *Claimed) Settlement { return Complete(c, 1, 0, nil, 0, now) }},
		{"keep", func(c *Claimed) Settlement { return Complete(c, 1, 1, []byte("output"), time.Hour, now) }},
		{"retry", func(c *Claimed) Settlement {
			return Retry(c, Failure{Attempt: 1, Failures: 1, Code: "error", Error: "boom", Worker: "w1", At: now}, time.Minute)
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			request := *l.request
			for i := range l.claimed {
				request.Settle = append(request.Settle, bc.settle(&l.claimed[i]))
			}
			var t turn
			b.ReportAllocs()
			for b.Loop() {
				t.build(l.part, "w1", &request)
			}
		})
	}
}

// BenchmarkRecordBatch makes the call that stores what a batch of tasks has recorded.
func BenchmarkRecordBatch(b *testing.B) {
	l := newBenchLab(b, enqueueMails)
	entries := make([]Recorded, benchBatch)
	for i := range entries {
		entries[i] = Recorded{Claim: &l.claimed[i], Field: JournalField(wire.EntryRecord, "charge"), Value: benchInput}
	}
	b.ReportAllocs()
	for b.Loop() {
		var call luascripts.Call
		queues, _ := l.part.recordQueues(entries)
		luascripts.RecordCall(&call, &luascripts.RecordKeys{Ghosts: l.part.keys.ghosts(), Journals: l.part.keys.journals()}, queues)
	}
	l.perStep()
}

// BenchmarkAdvance makes the call that completes a batch of nodes, each of which
// releases another one.
func BenchmarkAdvance(b *testing.B) {
	l := newBenchLab(b, func(ctx context.Context, c *Client) error {
		for range benchBatch {
			if _, err := c.EnqueueRun(ctx, graphSpec("first:", "second: first")); err != nil {
				return err
			}
		}
		return nil
	})
	settle := make([]Settlement, benchBatch)
	for i := range settle {
		settle[i] = Complete(&l.claimed[i], 1, 1, []byte("output"), 0, time.Now())
	}
	b.ReportAllocs()
	for b.Loop() {
		var call luascripts.Call
		a := &advance{s: l.store, p: l.part, settle: settle, order: byRun(settle), reply: &AdvanceReply{}}
		a.build(&call, 0, benchBatch)
	}
	l.perStep()
}

// BenchmarkPrepareRun checks and encodes a run of five steps, one behind the other.
func BenchmarkPrepareRun(b *testing.B) {
	l := newBenchLab(b, enqueueMails)
	spec := graphSpec("a:", "b: a", "c: b", "d: c", "e: d")
	b.ReportAllocs()
	for b.Loop() {
		var it runItem
		if err := l.store.client.prepareRun(&it, spec); err != nil {
			b.Fatal(err)
		}
	}
}

// enqueueMails enqueues a batch of single jobs.
func enqueueMails(ctx context.Context, c *Client) error {
	requests := make([]cyclone.Request, benchBatch)
	for i := range requests {
		requests[i] = mail.With(benchInput)
	}
	_, err := c.Enqueue(ctx, requests...)
	return err
}
