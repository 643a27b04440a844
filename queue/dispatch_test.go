package queue

import (
	"testing"

	"github.com/cyclone-queue/cyclone"
)

// An event of a node that was gone when it was looked at has its names from the run.
func TestEventsOfNodesThatAreGone(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.start(graphSpec("a", "b: a"))
		l.advance(l.done(l.claimNodes()["a"], "out"))
		events := make([]cyclone.StepEvent, 3)
		l.part(id).complete(l.ctx, events, []unknownEvent{{0, memberOf(id.String(), 0)}, {1, memberOf(id.String(), 1)}, {2, memberOf("999999", 0)}})
		for i, want := range []cyclone.StepEvent{{Kind: "mail", Node: "a"}, {Kind: "mail", Node: "b", Attempt: 1}, {}} {
			if events[i] != want {
				l.Errorf("%d: %+v, want %+v", i, events[i], want)
			}
		}
	})
}
