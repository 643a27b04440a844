package model_test

import (
	"fmt"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/model"
)

// Three workers that serve A, A and B, and B; and two that both serve both.
var (
	chain = []uint8{1, 3, 2}
	twins = []uint8{3, 3}
)

// No worker idles beside a ready step, whatever happens when.
func TestNobodyIdlesBesideWork(t *testing.T) {
	t.Parallel()
	for _, u := range []model.Wakeups{
		{Serves: chain, Slots: 1, Steps: 3, Pauses: 1},
		{Serves: chain, Slots: 1, Steps: 2, Stops: 1},
		{Serves: twins, Slots: 2, Steps: 3, Pauses: 1},
		{Serves: twins, Slots: 1, Steps: 1, Delayed: 1, Pauses: 1},
	} {
		r := u.Search()
		t.Logf("%+v: %v; a due step waits for the fallback in %d of them", u, r, r.Late)
		if r.Err != nil {
			t.Errorf("%v, after %q", r.Err, r.Path)
		}
	}
}

// Each rule is needed: without it some worker does idle. Who is woken and cannot
// use it is told by either of two rules, so these are left out together.
func TestEachWakeRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		without []model.Rule
		world   model.Wakeups
	}{
		{[]model.Rule{model.WakeForRest}, model.Wakeups{Serves: chain, Slots: 1, Steps: 3}},
		{[]model.Rule{model.LeaveLine, model.UseOrPassOn}, model.Wakeups{Serves: chain, Slots: 1, Steps: 3}},
		{[]model.Rule{model.ResumeWakes}, model.Wakeups{Serves: chain, Slots: 1, Steps: 2, Pauses: 1}},
		{[]model.Rule{model.StopPassesOn}, model.Wakeups{Serves: chain, Slots: 1, Steps: 2, Stops: 1}},
	} {
		t.Run(fmt.Sprint(c.without), func(t *testing.T) {
			t.Parallel()
			c.world.Without = c.without
			r := c.world.Search()
			t.Logf("%d of %d states are stuck, the first after %q", r.Bad, r.States, r.Path)
			if r.Bad == 0 {
				t.Errorf("nobody misses it")
			}
		})
	}
}

// A delayed step that becomes the next to be due wakes a worker, which then knows
// when to look: without that more of them wait for the fallback.
func TestFirstDueWakes(t *testing.T) {
	t.Parallel()
	u := model.Wakeups{Serves: twins, Slots: 1, Steps: 1, Delayed: 1}
	with := u.Search()
	u.Without = []model.Rule{model.FirstDueWakes}
	without := u.Search()
	t.Logf("a due step waits for the fallback in %d of %d states, without the rule in %d of %d", with.Late, with.States, without.Late, without.States)
	if without.Late <= with.Late {
		t.Error("the rule makes no difference")
	}
}
