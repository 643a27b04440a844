package conformance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// A worker that dies with work of the sweep in its hands delays that for seconds only.
func TestSweepsOfADeadWorkerGoOn(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		c := newCrew(nil)
		dead := l.Prepare(worker.Config{})
		taken := make(chan struct{})
		dead.Redis.AddHook(&lab.Tap{Script: luascripts.Sweep, After: func(reply []any) {
			if len(luascripts.ParseSweep(reply).Taken) > 0 {
				dead.Pull()
				close(taken)
			}
		}})
		dead.Register(c)
		dead.Go()
		b := workflow.New("wide")
		root := c.do(b, "root")
		for i := range dag.WideAbove + 1 {
			c.do(b, fmt.Sprint("leaf-", i), workflow.After(root))
		}
		id := lab.EnqueueRun(l, b)
		<-taken
		l.Start(worker.Config{}, c)
		died := l.Now()
		must(l, mustWait(l, id))
		if took := l.Now().Sub(died); took > 8*time.Second {
			l.Errorf("the run went on after %v", took)
		}
		if n := c.times("root"); n != 1 {
			l.Errorf("the root was entered %d times", n)
		}
	})
}

// Two that work on the same item of the sweep release each node once.
func TestSweepsOfOneRunAtOnce(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(nil)
		slow := l.Prepare(worker.Config{})
		taken, goOn := make(chan struct{}), make(chan struct{})
		first := true
		slow.Redis.AddHook(&lab.Tap{Script: luascripts.Sweep, After: func(reply []any) {
			if first && len(luascripts.ParseSweep(reply).Taken) > 0 {
				first = false
				close(taken)
				<-goOn // after the item is somebody else's
			}
		}})
		slow.Register(c)
		slow.Go()
		b := workflow.New("wide")
		root := c.do(b, "root")
		for i := range 3 * dag.WideAbove {
			c.do(b, fmt.Sprint("leaf-", i), workflow.After(root))
		}
		id := lab.EnqueueRun(l, b)
		<-taken
		l.Start(worker.Config{}, c)
		must(l, mustWait(l, id))
		close(goOn)
		l.Until("nothing is left to sweep", func() bool { return !l.Has("sweep") })
		for _, node := range append([]string{"root"}, fmt.Sprint("leaf-", 3*dag.WideAbove-1), "leaf-0") {
			if n := c.times(node); n != 1 {
				l.Errorf("%s was entered %d times", node, n)
			}
		}
		if n := len(c.entered()); n != 3*dag.WideAbove+1 {
			l.Errorf("%d nodes were entered", n)
		}
		l.MustAgree()
	})
}
