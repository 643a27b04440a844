package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// F-04: a process is frozen in a handler until another one has taken its step, and
// returns a result while that one is still at work: the result is refused, and the
// owner is not disturbed.
func TestZombieReturnsBesideTheOwner(t *testing.T) {
	t.Parallel()
	p := experiment{lease: 5 * time.Second}.build(t, 1) // the owner holds it on a busy machine too
	ctx, hold := context.Background(), p.server.Prefix+"-hold"
	task := cyclone.DeclareTask[work, string]("task")
	run, err := cyclone.EnqueueTask(ctx, p.client, task, work{Key: "one", Hold: hold})
	if err != nil {
		t.Fatal(err)
	}
	zombie := p.hire()
	p.lab.Until("the first process is at work", func() bool { return p.ledger.starts(run.ID()) == 1 })
	zombie.freeze()
	owner := p.hire()
	p.lab.Until("the second process is at work", func() bool { return p.ledger.starts(run.ID()) == 2 })
	before := p.lab.Step(run.ID())
	zombie.thaw()
	p.lab.Until("the zombie knows that it has lost its lease", func() bool { return p.ledger.says(run.ID(), "over") })
	p.lab.Redis.Set(ctx, holdKey(hold, zombie.cmd.Process.Pid), 1, 0)
	p.lab.Until("the late result is refused", func() bool { return zombie.said("settlement refused") == 1 })
	if s := p.lab.Step(run.ID()); s.State != cyclone.StepRunning || s.Token != before.Token || s.Failures != before.Failures {
		t.Errorf("after the late result the step is %+v, want %+v", s, before)
	}
	zombie.stop()
	p.lab.Redis.Set(ctx, holdKey(hold, owner.cmd.Process.Pid), 1, 0)
	if out, err := run.Wait(t.Context()); err != nil || out != "one" {
		t.Errorf("the task returned %q (%v)", out, err)
	}
	ends := p.ledger.of(run.ID())
	if last := ends[len(ends)-1]; last.Event != "end" || last.Attempt != 2 || last.Error != "" {
		t.Errorf("the last thing that happened is %+v, want the second try's success", last)
	}
	for _, e := range ends {
		if e.Event == "end" && e.Attempt == 1 && e.Cause != cyclone.ErrLeaseLost.Error() {
			t.Errorf("the zombie's context ended with %q, want %q", e.Cause, cyclone.ErrLeaseLost)
		}
	}
}
