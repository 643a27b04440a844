package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestReplayTellsWhatIsHeld: a turn that is sent again because its answer was lost
// tells of no claim that is another's by then or has ended: a handler would start
// for it.
func TestReplayTellsWhatIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3", "4", "5", "6")
		in := wanting(l.turnInput(), 6)
		call := l.turnCall(in)
		l.ok(luascripts.Turn, call) // its answer is lost
		l.others()
		l.cancel("2")
		l.delete("3")
		l.cancel("4")
		l.revive("4")
		l.expire("5", "6")
		// Another worker takes them back, and one of them on.
		other := wanting(l.turnInput(), 1)
		if got := members(l.turn(other), other.Token); len(got) != 1 {
			l.Fatalf("the other worker holds %q", got)
		}
		again := luascripts.ParseTurn(l.ok(luascripts.Turn, call))
		l.equal(members(again, in.Token), []string{"1:" + in.Token})
	})
}

// TestReplayTellsNothing: a claim of which nothing is held any more is left out.
func TestReplayTellsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		call := l.turnCall(wanting(l.turnInput(), 1))
		l.ok(luascripts.Turn, call)
		l.others()
		l.delete("1")
		again := luascripts.ParseTurn(l.ok(luascripts.Turn, call))
		if len(again.Claims) != 0 {
			l.Fatalf("told of %v", again.Claims)
		}
	})
}

// others makes the calls from here on those of another session.
func (l *lab) others() {
	l.Helper()
	l.session = luascripts.Session{Lane: "c.2", Seq: l.open("c.2")[0]}
}
