package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// A worker that cannot fetch says so, keeps what has finished, and goes on by
// itself when Redis is back.
func TestHealthFollowsRedis(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			<-hold
			return nil
		})
		w := l.Start(worker.Config{Concurrency: 5}, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(time.Second)
		if h := w.Health(); h.Running != 1 || h.Free != 4 || h.Err != nil || h.Stuck != 0 || h.Stopping || time.Since(h.LastReply) > 2*time.Second {
			l.Errorf("a working worker's health is %+v", h)
		}
		w.Pull()
		l.Pass(10 * time.Second)
		close(hold)
		l.Pass(5 * time.Second)
		if h := w.Health(); h.Err == nil || time.Since(h.LastReply) < 10*time.Second {
			l.Errorf("without Redis its health is %+v", h)
		}
		if n := l.Log.Count("level=ERROR"); n > 15*4 {
			l.Errorf("%d errors were logged in 15 s", n)
		}
		w.Insert()
		l.Pass(8 * time.Second)
		if h := w.Health(); h.Err != nil || h.Running != 0 || h.Free != 5 {
			l.Errorf("with Redis back its health is %+v", h)
		}
		if n := len(v.All()); n != 1 || l.Step(id) != nil {
			l.Errorf("%d executions, left is %+v; want one and nothing: the result was kept", n, l.Step(id))
		}
	})
}

// A worker may start before its Redis does; a client says soon that there is none.
func TestRedisThatComesLater(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 0)
		w := l.Prepare(worker.Config{})
		w.Register(action)
		w.Pull()
		w.Go()
		c, _, plug := l.NewClient(l.Config())
		plug.Pull()
		began := time.Now()
		if _, err := cyclone.EnqueueAction(context.Background(), c, action, ""); err == nil {
			l.Error("an enqueue without Redis succeeded")
		}
		if took := time.Since(began); took > 10*time.Second {
			l.Errorf("the enqueue failed after %v", took)
		}
		l.Pass(time.Minute)
		if h := w.Health(); h.Err == nil {
			l.Errorf("a worker without Redis has health %+v", h)
		}
		w.Insert()
		plug.Insert()
		l.Pass(6 * time.Second)
		if _, err := cyclone.EnqueueAction(context.Background(), c, action, ""); err != nil {
			l.Errorf("an enqueue when Redis is there: %v", err)
		}
		l.Pass(time.Second)
		if n := len(v.All()); n != 1 || w.Health().Err != nil {
			l.Errorf("%d executions, health %+v; want one", n, w.Health())
		}
	})
}

// A worker that never reached its Redis can still be stopped.
func TestStopWithoutRedis(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		never := l.Prepare(worker.Config{})
		never.Pull()
		never.Go()
		l.Pass(time.Minute)
		began := time.Now()
		if err := never.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		lost := l.Start(worker.Config{}, fails(l.Visits(), 0))
		l.Pass(time.Second)
		lost.Pull()
		l.Pass(time.Second)
		if err := lost.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		if took := time.Since(began); took > time.Minute {
			l.Errorf("the stops took %v", took)
		}
	})
}
