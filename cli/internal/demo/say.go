package demo

import (
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// said is an event worth a line, or several like it.
type said struct {
	at     time.Duration
	verb   string
	colour terminal.Colour
	kind   string
	run    cyclone.RunID
	n      int
	text   string
}

// what names the step, or how many there are.
func (s *said) what() string {
	if s.n > 1 {
		return fmt.Sprintf("%s × %d", s.kind, s.n)
	}
	return fmt.Sprintf("%s %v", s.kind, s.run)
}

// together is how close events of a kind must be to share a line.
const together = 500 * time.Millisecond

// joins adds a snooze to the line before it: they come in bursts.
func (s *said) joins(before *said) bool {
	if s.verb != string(cyclone.EventSnoozed) || before.verb != s.verb || before.kind != s.kind || s.at-before.at > together {
		return false
	}
	before.n++
	before.text = overLimit
	return true
}

const overLimit = "over the API's limit, put off for a moment"

// say returns a line about an event, or false for one of the many that are not
// worth it: what is enqueued, claimed, and completed at once.
func say(start time.Time, e cyclone.StepEvent, before step) (said, bool) {
	s := said{at: e.At.Sub(start), verb: string(e.Type), kind: terminal.Clean(kindName(e.Kind)), run: e.RunID, n: 1}
	errorText := terminal.Clean(e.Error)
	switch e.Type {
	case cyclone.EventCompleted:
		switch {
		case e.Kind == queue.KindWait:
			s.text = "the signal has come"
		case before.retried:
			s.text = "after the operator's retry"
		case before.lost:
			s.text = fmt.Sprintf("on another worker, still attempt %d", e.Attempt)
		case before.failures > 0:
			s.text = fmt.Sprintf("at attempt %d", e.Attempt)
		default:
			return said{}, false
		}
		s.colour = terminal.Good
	case cyclone.EventFailed:
		s.colour = terminal.Warn
		s.text = fmt.Sprintf("attempt %d, again in %s: %s", e.Attempt, terminal.Duration(max(e.DueAt.Sub(e.At), 0)), errorText)
		if e.State == cyclone.StepExhausted {
			s.verb, s.colour, s.text = "discarded", terminal.Bad, errorText
		}
	case cyclone.EventSnoozed:
		s.colour = terminal.Wait
		s.text = overLimit
		if wait := e.DueAt.Sub(e.At); wait > 0 {
			s.text = "over the API's limit; again in " + terminal.Duration(wait)
		}
	case cyclone.EventSuspended:
		s.verb, s.colour, s.text = "waiting", terminal.Wait, "for a signal; it holds no worker"
	case cyclone.EventFinished:
		s.colour, s.text = terminal.Good, "all of its steps have ended: "+terminal.Clean(string(e.State))
	case cyclone.EventDiscarded:
		s.colour, s.text = terminal.Bad, errorText
	case cyclone.EventLost:
		s.colour, s.text = terminal.Bad, "its worker is gone; back in the queue"
	case cyclone.EventReleased:
		s.colour, s.text = terminal.Wait, "its worker stops and gives it back"
	case cyclone.EventRetried:
		s.colour, s.text = terminal.Accent, "opened again by the operator"
	default:
		return said{}, false
	}
	return s, true
}

// clock is how long the demo has run, as it stands before each line.
func clock(d time.Duration) string { return fmt.Sprintf("%6.1fs", max(d, 0).Seconds()) }
