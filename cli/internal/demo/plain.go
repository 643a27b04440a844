package demo

import (
	"fmt"
	"io"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// plain shows a demo as lines, for a file or a pipe.
type plain struct {
	out   io.Writer
	paint terminal.Painter
	plan  Plan
	tally *tally
	next  time.Time // of the line that counts
	held  *said     // a line that others may join
}

func (v *plain) chapter(c chapter) {
	v.flush()
	fmt.Fprintf(v.out, "%s  %s\n", v.paint.Paint(terminal.Dim, clock(c.at)), v.paint.Paint(terminal.Bold, "# "+c.text))
}

func (v *plain) event(e cyclone.StepEvent, before step) {
	s, ok := say(v.plan.Start, e, before)
	if !ok || v.held != nil && s.joins(v.held) {
		return
	}
	v.flush()
	v.held = &s
}

// flush prints the line that is held.
func (v *plain) flush() {
	s := v.held
	if s == nil {
		return
	}
	v.held = nil
	fmt.Fprintf(v.out, "%s  %s %s  %s\n", v.paint.Paint(terminal.Dim, clock(s.at)),
		v.paint.Paint(s.colour, terminal.Pad(s.verb, 9, false)), terminal.Pad(s.what(), 20, false), s.text)
}

// tick prints now and then how many steps are where.
func (v *plain) tick() {
	now := time.Now()
	if v.held != nil && now.Sub(v.plan.Start)-v.held.at > together {
		v.flush()
	}
	if v.next.IsZero() {
		v.next = v.plan.Start
	}
	if now.Before(v.next.Add(2 * v.plan.unit())) {
		return
	}
	v.next = now
	v.flush()
	v.tally.mu.Lock()
	defer v.tally.mu.Unlock()
	completed, discarded := 0, 0
	states := map[cyclone.StepState]int{}
	for _, k := range v.tally.kinds {
		completed += k.Completed
		discarded += k.Discarded
		for state, n := range k.now {
			states[state] += n
		}
	}
	line := fmt.Sprintf("completed %d", completed)
	for _, state := range moving {
		if n := states[state]; n > 0 {
			line += fmt.Sprintf(" · %s %d", state, n)
		}
	}
	if discarded > 0 {
		line += fmt.Sprintf(" · discarded %d", discarded)
	}
	fmt.Fprintf(v.out, "%s  so far    %s\n", v.paint.Paint(terminal.Dim, clock(now.Sub(v.plan.Start))), line)
}

func (v *plain) close() { v.flush() }

// moving are the states of steps that have something to come, in the order in
// which they are shown.
var moving = []cyclone.StepState{
	cyclone.StepRunning, cyclone.StepReady, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepScheduled, cyclone.StepWaiting,
}
