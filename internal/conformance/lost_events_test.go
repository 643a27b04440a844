package conformance_test

import (
	"sync/atomic"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/workflow"
)

// The process whose worker takes a step back hears of it, once: of what and of whom it
// is, and where the step went. That the answer was lost changes nothing.
func TestEventsOfLostLeasesReachTheProcess(t *testing.T) {
	for name, lose := range map[string]bool{"answered": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				h := &heard{}
				lab.OnEvent(h.add)(l)
				in := make(chan struct{}, 10)
				action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
					in <- struct{}{}
					return untilEnd(ctx)
				})
				b := workflow.New("flow")
				workflow.Do(b, "node", action, workflow.Value(""))
				id := lab.EnqueueRun(l, b)
				start := func() *lab.Running {
					w := l.Prepare(brief)
					w.Register(action)
					if lose {
						var calls atomic.Int32
						w.Redis.AddHook(&lab.Loss{Script: luascripts.Turn, Lose: func() bool { return calls.Add(1)%2 == 1 }})
					}
					w.Go()
					return w
				}
				first := start()
				<-in
				first.Pull()
				second := start()
				<-in
				second.Pull()
				start()
				l.Until("both losses are heard", func() bool { return len(h.find(cyclone.EventLost)) == 2 })
				for i, want := range []struct {
					worker string
					state  cyclone.StepState
				}{{first.ID(), cyclone.StepReady}, {second.ID(), cyclone.StepRetrying}} {
					e := h.find(cyclone.EventLost)[i]
					if e.RunID != id || e.Node != "node" || e.Kind != "job" || e.Queue != "default" || e.Attempt != 1 || e.At.IsZero() {
						l.Errorf("loss %d: %+v", i+1, e)
					}
					if e.Worker != want.worker || e.State != want.state || e.DueAt.After(e.At) != (want.state == cyclone.StepRetrying) {
						l.Errorf("loss %d: %+v, want worker %s and state %s", i+1, e, want.worker, want.state)
					}
				}
				mustCancel(l, id)
			})
		})
	}
}
