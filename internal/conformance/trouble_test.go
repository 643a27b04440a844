package conformance_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// A worker that is refused everything reports it, does not spin, and goes on when
// it may again.
func TestRefusedCommandsDoNotSpin(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 0)
		w := l.Prepare(worker.Config{})
		var counter lab.Counter
		w.Redis.AddHook(&counter)
		w.Register(action)
		w.Go()
		l.Pass(time.Second)
		var refuse atomic.Bool
		l.Embedded.Miniredis().Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
			if refuse.Load() && strings.HasPrefix(strings.ToUpper(cmd), "EVAL") {
				p.WriteError("NOPERM User worker has no permissions to run the 'evalsha' command")
				return true
			}
			return false
		})
		refuse.Store(true)
		before := counter.Count()
		l.Pass(time.Minute)
		refuse.Store(false)
		if n := counter.Count() - before; n > 240 {
			l.Errorf("%d commands in the minute of refusals", n)
		}
		if n := l.Log.Count("level=ERROR", "NOPERM"); n < 3 || n > 120 {
			l.Errorf("%d errors were logged in the minute of refusals", n)
		}
		if h := w.Health(); h.Err == nil || !strings.Contains(h.Err.Error(), "NOPERM") {
			l.Errorf("its health is %+v", h)
		}
		id := lab.Enqueue(l, action, "")
		l.Pass(10 * time.Second)
		if l.Step(id) != nil || w.Health().Err != nil {
			l.Errorf("after the refusals the step is %+v and the health %+v", l.Step(id), w.Health())
		}
	})
}

// Everything is deleted by hand: running attempts hear that their leases are gone,
// and new steps run as if nothing had been.
func TestFlushedDatabase(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		causes := make(chan error, 5)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, in string) error {
			v.Add(ctx)
			if in == "long" {
				causes <- untilEnd(ctx)
			}
			return nil
		})
		w := l.Start(worker.Config{}, action)
		for range 5 {
			lab.Enqueue(l, action, "long")
		}
		lab.Enqueue(l, action, "", cyclone.WithDelay(time.Hour))
		l.Pass(time.Second)
		l.Embedded.Miniredis().FlushAll()
		l.Pass(11 * time.Second)
		for range 5 {
			select {
			case cause := <-causes:
				if !errors.Is(cause, cyclone.ErrLeaseLost) {
					l.Errorf("cause %v, want ErrLeaseLost", cause)
				}
			default:
				l.Fatal("an attempt has not heard of it by the next heartbeat")
			}
		}
		for range 3 {
			lab.Enqueue(l, action, "")
			l.Pass(2 * time.Second)
		}
		if n := len(v.All()); n != 8 || l.Count() != 0 {
			l.Errorf("%d executions and %d steps left, want 8 and none", n, l.Count())
		}
		if h := w.Health(); h.Err != nil || h.Running != 0 {
			l.Errorf("its health is %+v", h)
		}
	})
}
