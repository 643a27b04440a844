package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

func TestSmoke(t *testing.T) {
	for _, kind := range []string{"mini", "redis"} {
		t.Run(kind, func(t *testing.T) {
			var rdb *redis.Client
			if kind == "mini" {
				m := miniredis.RunT(t)
				rdb = redis.NewClient(&redis.Options{Addr: m.Addr()})
			} else {
				rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:7777", DB: 3})
				rdb.FlushDB(context.Background())
			}
			ctx, cancel := context.WithCancel(context.Background())
			c, err := queue.NewClient(rdb, queue.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var n atomic.Int64
			lat := make(chan time.Duration, 10000)
			def := cyclone.NewAction("mail", func(ctx context.Context, in int64) error { n.Add(1); lat <- time.Since(time.Unix(0, in)); return nil })
			flaky := cyclone.NewAction("flaky", func(ctx cyclone.Context, in string) error {
				fmt.Println("flaky", ctx.Attempt(), ctx.MaxAttempts())
				if ctx.Attempt() < 3 {
					return cyclone.RetryAfter(errors.New("no"), 10*time.Millisecond)
				}
				return nil
			})
			task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, in string) (string, error) { return in + "!", nil }))
			w, err := New(c, Config{})
			if err != nil {
				t.Fatal(err)
			}
			w.Register(def, flaky, task)
			done := make(chan error)
			go func() { done <- w.Run(ctx) }()
			time.Sleep(300 * time.Millisecond)
			for range 200 {
				cyclone.EnqueueAction(ctx, c, def, time.Now().UnixNano())
				d := <-lat
				_ = d
				time.Sleep(time.Millisecond)
				if n.Load()%40 == 0 {
					fmt.Println(d)
				}
			}
			cyclone.EnqueueAction(ctx, c, flaky, "x")
			r, _ := cyclone.EnqueueTask(ctx, c, task, "hello")
			out, err := r.Wait(ctx)
			fmt.Println(out, err)
			time.Sleep(200 * time.Millisecond)
			reqs := make([]cyclone.Request, 5000)
			for i := range reqs {
				reqs[i] = def.With(time.Now().UnixNano())
			}
			t0 := time.Now()
			c.Enqueue(ctx, reqs...)
			fmt.Println("enq", time.Since(t0))
			for n.Load() < 5200 {
				time.Sleep(time.Millisecond)
			}
			fmt.Println("all", time.Since(t0))
			cancel()
			fmt.Println(<-done, w.Health())
			fmt.Println(rdb.Keys(context.Background(), "*").Val())
		})
	}
}
