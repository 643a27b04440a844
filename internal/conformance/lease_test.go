package conformance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
)

// A worker that is cut off ends its attempts by its own clock, when their leases
// have run out and not before.
func TestLostLeaseEndsTheContextByTheLocalClock(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		causes := make(chan error, 1)
		ended := make(chan time.Time, 1)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			causes <- untilEnd(ctx)
			ended <- time.Now()
			return nil
		})
		w := l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(25 * time.Second) // renewed at 20 s
		w.Pull()
		until := l.Step(id).Due
		l.Pass(time.Minute)
		if cause := <-causes; !errors.Is(cause, cyclone.ErrLeaseLost) {
			l.Errorf("cause %v, want ErrLeaseLost", cause)
		}
		if at := <-ended; at.Before(until.Add(-time.Second)) || at.After(until.Add(3*time.Second)) {
			l.Errorf("the context ended %v after the lease", at.Sub(until))
		}
	})
}

// A lease that somebody took is noticed at the next heartbeat.
func TestLostLeaseEndsTheContextByTheNextHeartbeat(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		causes := make(chan error, 1)
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				causes <- untilEnd(ctx)
				return nil
			}
			<-hold
			return nil
		})
		l.Start(worker.Config{Heartbeat: 100 * time.Millisecond, Fallback: 50 * time.Millisecond}, action)
		id := lab.Enqueue(l, action, "")
		v.Until(1)
		stolen := steal(l, id)
		if cause := <-causes; !errors.Is(cause, cyclone.ErrLeaseLost) {
			l.Errorf("cause %v, want ErrLeaseLost", cause)
		}
		v.Until(2)
		l.Until("the first attempt is refused", func() bool { return l.Log.Count("settlement refused") == 1 })
		if s := l.Step(id); s == nil || s.State != cyclone.StepRunning || s.Token == stolen {
			l.Errorf("the step is %+v, want it running under another token than %s", s, stolen)
		}
		close(hold)
		l.UntilGone(id)
	})
}

// steal takes a running step from its worker, as the reaping of an expired lease
// does, and returns the token that is void now.
func steal(l *lab.Lab, id cyclone.RunID) string {
	l.Helper()
	token := l.UntilState(id, cyclone.StepRunning).Token
	_, err := l.Redis.TxPipelined(context.Background(), func(pipe redis.Pipeliner) error {
		pipe.ZRem(context.Background(), l.Key(id, "leased:default"), id.String()+":"+token)
		pipe.RPush(context.Background(), l.Key(id, "ready:default:d"), id.String())
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
	return token
}

// Whatever a handler returns after its lease has gone to another worker, the
// next owner's attempt and the stored step stay as they are.
func TestStaleOwnersChangeNothing(t *testing.T) {
	late := map[string]error{
		"complete": nil, "fail": errBoom, "snooze": cyclone.Snooze(time.Hour),
		"discard": cyclone.Permanent(errBoom),
	}
	for name, result := range late {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				v := l.Visits()
				zombie, owner := make(chan struct{}), make(chan struct{})
				step := cyclone.NewStep("job", func(ctx cyclone.Context, _ string) (string, error) {
					if v.Add(ctx) == 1 {
						<-zombie // deaf to its context
						return "zombie", result
					}
					<-owner
					return "owner", nil
				})
				run, err := cyclone.EnqueueStep(context.Background(), l.Client(), step, "")
				if err != nil {
					l.Fatal(err)
				}
				crashed := crash(l, v, run.ID(), step)
				l.Start(brief, step)
				v.Until(2)
				before := l.Step(run.ID())
				crashed.Insert()
				close(zombie)
				l.Until("the late result is refused", func() bool { return l.Log.Count("settlement refused", "lease lost") == 1 })
				if s := l.Step(run.ID()); s.State != cyclone.StepRunning || s.Token != before.Token || s.Failures+s.Snoozes != 0 {
					l.Errorf("after the late result the step is %+v, want %+v", s, before)
				}
				close(owner)
				if out, err := run.Wait(l.Context()); err != nil || out != "owner" {
					l.Errorf("the step returned %q (%v), want the owner's", out, err)
				}
				if n := len(v.All()); n != 2 {
					l.Errorf("%d executions, want 2", n)
				}
			})
		})
	}
}

// An expired lease is found by whoever lives, timed by its end: not by a loop,
// nor by a leader.
func TestExpiredLeaseIsReapedOnTime(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				return untilEnd(ctx)
			}
			return nil
		})
		id := lab.Enqueue(l, action, "")
		dead := l.Start(worker.Config{}, action)
		l.Pass(time.Second)
		dead.Pull()
		// A fallback of an hour: only the answer of its one claim tells it when.
		l.Start(worker.Config{Fallback: time.Hour}, action)
		l.Pass(time.Second)
		ends := l.Step(id).Due
		l.Pass(time.Minute)
		if n := len(v.All()); n != 2 {
			l.Fatalf("%d executions, want 2", n)
		}
		if late := v.All()[1].At.Sub(ends); late < 0 || late > 100*time.Millisecond {
			l.Errorf("the step started again %v after its lease ended", late)
		}
	})
}

// Every claim has its own token, which begins with its worker's id.
func TestTokensNameTheWorkerAndNeverRepeat(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		tokens := make(chan string, 10)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			tokens <- l.UntilState(ctx.RunID(), cyclone.StepRunning).Token
			return errBoom
		}, soon)
		w := l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilState(id, cyclone.StepExhausted)
		close(tokens)
		var all []string
		for token := range tokens {
			all = append(all, token)
			if len(token) < len(w.ID())+16 || token[:len(w.ID())] != w.ID() {
				l.Errorf("token %s of worker %s", token, w.ID())
			}
		}
		slices.Sort(all)
		if n := len(slices.Compact(all)); n != 5 {
			l.Errorf("%d different tokens in 5 claims", n)
		}
	})
}

func TestLeaseExpiryMovesForward(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		left := make(chan time.Duration, 3)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			for range 3 {
				left <- time.Until(ctx.LeaseExpiry())
				time.Sleep(20 * time.Second)
			}
			return nil
		})
		l.Start(worker.Config{}, action)
		lab.Enqueue(l, action, "")
		l.Pass(2 * time.Minute)
		for range 3 {
			if d := <-left; d < 19*time.Second || d > 30*time.Second {
				l.Errorf("the lease ends in %v, want 20s to 30s", d)
			}
		}
	})
}
