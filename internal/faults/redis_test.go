package faults_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// F-40: Redis is killed and started again, with its append-only file synced once
// a second. A killed process loses nothing that was acknowledged, unless the disk
// was so busy that Redis had put its own writes off; then only what it lost is
// missing.
func TestKilledRedis(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		var kills atomic.Int64
		enough := func() bool { return kills.Load() >= 2 }
		server := []string{"--appendonly", "yes", "--appendfsync", "everysec", "--dir", memoryDir(t)}
		experiment{acknowledged: 100, enough: enough, server: server, faults: func(ctx context.Context, p *plant) {
			canary := p.startCanary()
			p.every(ctx, time.Second, func() {
				p.server.Kill()
				kills.Add(1)
				p.server.Restart()
			})
			canary.stop()
			if lost := canary.lost.Load(); lost > 0 {
				p.Logf("Redis lost %d acknowledged increments of its own", lost)
				p.lossy = true
			}
		}}.run(t, seed)
		if !enough() {
			t.Errorf("%d kills: want enough of them", kills.Load())
		}
	})
}

// memoryDir returns a directory in memory, where there is one: on a busy disk
// Redis puts off the writes of its file.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cyclone-faults-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// canary counts in Redis, to see what Redis itself loses: a count that was
// acknowledged and comes again.
type canary struct {
	rdb  *redis.Client
	lost atomic.Int64
	quit chan struct{}
	done chan struct{}
}

func (p *plant) startCanary() *canary {
	c := &canary{rdb: p.server.NewClient(p), quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for acked := int64(0); ; {
			select {
			case <-c.quit:
				return
			default:
			}
			n, err := c.rdb.Incr(context.Background(), "canary").Result()
			if err != nil {
				<-time.After(time.Millisecond)
				continue
			}
			if n <= acked {
				c.lost.Add(acked - n + 1)
			}
			acked = n
		}
	}()
	return c
}

func (c *canary) stop() {
	close(c.quit)
	<-c.done
}

// F-43: Redis is frozen for longer than a lease. Each step whose lease ended
// meanwhile is run again, and the results of both do not mix.
func TestFrozenRedis(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		experiment{acknowledged: 50, lasts: 6 * time.Second, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 500*time.Millisecond, func() {
				p.server.Stop()
				<-time.After(p.lease * 5 / 4)
				p.server.Cont()
			})
		}}.run(t, seed)
	})
}

// F-30: all scripts are forgotten again and again; nobody notices.
func TestFlushedScripts(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := experiment{acknowledged: 300, lasts: 3 * time.Second, lease: patient, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 20*time.Millisecond, func() { p.lab.Redis.ScriptFlush(context.Background()) })
		}}.run(t, seed)
		if p.unsure+p.refused+p.total("lost")+p.again() != 0 {
			t.Errorf("%d unsure, %d refused, %d lost, %d executed in vain: want none", p.unsure, p.refused, p.total("lost"), p.again())
		}
	})
}

// F-27: every connection is cut again and again.
func TestCutConnections(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := experiment{acknowledged: 200, lease: patient, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 200*time.Millisecond, func() {
				for _, kind := range []string{"normal", "pubsub"} {
					p.lab.Redis.ClientKillByFilter(context.Background(), "TYPE", kind)
				}
			})
		}}.run(t, seed)
		if p.unsure+p.refused+p.total("lost")+p.again() != 0 {
			t.Errorf("%d unsure, %d refused, %d lost, %d executed in vain: want none", p.unsure, p.refused, p.total("lost"), p.again())
		}
	})
}

// F-45: somebody else's script keeps Redis busy.
func TestBusyRedis(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		experiment{acknowledged: 50, server: []string{"--lua-time-limit", "50"}, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 700*time.Millisecond, func() {
				foreign, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
				defer cancel()
				rdb := redis.NewClient(&redis.Options{Addr: p.server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
				defer func() { _ = rdb.Close() }()
				rdb.Eval(foreign, "while true do end", nil)
				p.lab.Redis.ScriptKill(context.Background())
			})
		}}.run(t, seed)
	})
}

// F-47: Redis is full while work goes on: producers are held back, workers are
// not, and when there is room again everything goes on.
func TestFullRedis(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := experiment{acknowledged: 100, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 500*time.Millisecond, func() {
				p.lab.Redis.ConfigSet(context.Background(), "maxmemory", "1")
				<-time.After(300 * time.Millisecond)
				p.lab.Redis.ConfigSet(context.Background(), "maxmemory", "0")
			})
		}}.run(t, seed)
		if p.refused == 0 || p.unsure+p.total("lost")+p.again() != 0 {
			t.Errorf("%d refused, want some; %d unsure, %d lost, %d executed in vain, want none", p.refused, p.unsure, p.total("lost"), p.again())
		}
	})
}

// F-31: Redis takes no more connections.
func TestTooManyConnections(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := experiment{acknowledged: 50, faults: func(ctx context.Context, p *plant) {
			p.every(ctx, 500*time.Millisecond, func() {
				p.lab.Redis.ConfigSet(context.Background(), "maxclients", "1")
				p.lab.Redis.ClientKillByFilter(context.Background(), "TYPE", "normal", "SKIPME", "yes")
				<-time.After(300 * time.Millisecond)
				p.lab.Redis.ConfigSet(context.Background(), "maxclients", "1000")
			})
		}}.run(t, seed)
		stats, err := p.lab.Redis.Info(context.Background(), "stats").Result()
		if err != nil || strings.Contains(stats, "rejected_connections:0\r") {
			t.Errorf("no connection was rejected (%v)", err)
		}
		if lost := p.total("lost"); lost != 0 {
			t.Errorf("%d leases were lost, want none", lost)
		}
	})
}
