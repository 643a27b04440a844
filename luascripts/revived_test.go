package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestReleaseOfAHauntedNode: a node that was cancelled while it ran, and revived as
// blocked, is not made ready beside the claim that is still out; whoever takes the
// claim's id makes it ready.
func TestReleaseOfAHauntedNode(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 2, 2, "d1", 1)
		m := l.holding("7.0", "7.1")
		l.put(l.rdb.HSet(ctx, l.key("ghosts"), "7.1", "xq"))
		l.ended(l.node(m[0], before(1)))
		l.equal(l.content("ghosts"), []string{"7.1=rq"})
		l.equal(l.content("ready:q:d"), nothing)
		reply := l.advance(l.node(m[1]))
		l.equal(reply.Lost, map[string]string{m[1]: luascripts.ReasonCancelled})
		l.equal(l.content("ghosts"), nothing)
		l.equal(l.content("ready:q:d"), []string{"7.1"})
	})
}

// TestDropOfAHauntedNode leaves the ghost of the claim that is still out.
func TestDropOfAHauntedNode(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.equal(l.plan(op(luascripts.SweepCancel, 1, "", "XR")), "done")
		l.equal(l.plan(op(luascripts.SweepRevive, 1, "XR", "1")), "done")
		l.equal(l.plan(op(luascripts.SweepDrop, 1, "", "xB")), "done")
		l.equal(l.content("ghosts"), []string{"3.1=xq"})
	})
}
