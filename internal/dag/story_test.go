package dag

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// The rules by example: what Plan says to a state that is written out.

// node returns a node that depends on others.
func node(policy wire.DepPolicy, deps ...int) Node { return Node{OnDepFailure: policy, Deps: deps} }

var (
	live      = NodeState{}
	completed = NodeState{Ended: MarkCompleted}
	discarded = NodeState{Ended: MarkDiscarded}
)

func blocked(left int) NodeState      { return NodeState{Blocked: true, Left: left} }
func ended(m Mark) NodeState          { return NodeState{Ended: m} }
func deleted(s NodeState) NodeState   { s.NoBody = true; return s }
func cancelOp(i int, m Mark) Op       { return Op{Kind: OpCancel, Node: i, Mark: m} }
func reviveOp(i, left int, m Mark) Op { return Op{Kind: OpRevive, Node: i, Mark: m, Left: left} }

func TestPlanByExample(t *testing.T) {
	t.Parallel()
	const fail, cancel, run = wire.DepFail, wire.DepCancel, wire.DepRun
	diamond := []Node{node(fail), node(fail, 0), node(cancel, 0), node(run, 1, 2)}
	pair := func(p wire.DepPolicy) []Node { return []Node{node(fail), node(fail), node(p, 0, 1)} }
	failing, finish := Op{Kind: OpRun, Run: RunFailing}, func(m RunMark) Op { return Op{Kind: OpFinish, Run: m} }

	for name, tt := range map[string]struct {
		nodes []Node
		run   RunMark // RunRunning when it is zero
		late  bool
		state []NodeState
		want  []Op
	}{
		"nothing to do": {nodes: diamond, state: []NodeState{live, blocked(1), blocked(1), blocked(2)}},
		"a wide node has completed": {
			nodes: diamond, state: []NodeState{completed, blocked(1), blocked(1), blocked(2)},
			want: []Op{{Kind: OpRelease, Node: 1}, {Kind: OpRelease, Node: 2}},
		},
		"C15: the siblings of a discarded node": {
			nodes: pair(fail), state: []NodeState{discarded, live, blocked(2)},
			want: []Op{failing, cancelOp(1, MarkDroppedReleased), cancelOp(2, MarkDroppedBlocked), finish(RunFailed)},
		},
		"C16: a contained failure and its branch": {
			nodes: pair(cancel), state: []NodeState{discarded, live, blocked(2)},
			want: []Op{cancelOp(2, MarkDroppedBlocked)},
		},
		"a node that runs anyway waits for the others": {
			nodes: pair(run), state: []NodeState{discarded, live, blocked(2)},
			want: []Op{{Kind: OpBlock, Node: 2, Left: 1}},
		},
		"and then runs": {
			nodes: pair(run), state: []NodeState{discarded, completed, blocked(2)},
			want: []Op{{Kind: OpRelease, Node: 2}},
		},
		"a cancelled branch counts as ended": {
			nodes: []Node{node(fail), node(cancel, 0), node(run, 1)}, state: []NodeState{discarded, blocked(1), blocked(1)},
			want: []Op{cancelOp(1, MarkDroppedBlocked), {Kind: OpRelease, Node: 2}},
		},
		"all failures were contained": {
			nodes: pair(cancel), state: []NodeState{discarded, completed, ended(MarkDroppedBlocked)},
			want: []Op{finish(RunCompleted)},
		},
		"the last node cannot contain its own failure": {
			nodes: pair(cancel), state: []NodeState{completed, completed, discarded},
			want: []Op{failing, finish(RunFailed)},
		},
		"an operator's cancel is a failure": {
			nodes: pair(fail), state: []NodeState{ended(MarkCancelledReleased), completed, blocked(1)},
			want: []Op{failing, cancelOp(2, MarkDroppedBlocked), finish(RunFailed)},
		},
		"also that of a blocked node": {
			nodes: pair(fail), state: []NodeState{live, completed, ended(MarkCancelledBlocked)},
			want: []Op{failing, cancelOp(0, MarkDroppedReleased), finish(RunFailed)},
		},
		"a deleted node is a cancelled one": {
			nodes: pair(cancel), state: []NodeState{deleted(live), live, blocked(2)},
			want: []Op{cancelOp(0, MarkCancelledReleased), cancelOp(2, MarkDroppedBlocked)},
		},
		"what was dropped and deleted cannot come back": {
			nodes: pair(cancel), state: []NodeState{live, ended(MarkDroppedReleased), deleted(ended(MarkDroppedBlocked))},
			want: []Op{failing, cancelOp(0, MarkDroppedReleased), cancelOp(2, MarkCancelledBlocked), finish(RunFailed)},
		},
		"a failure was opened again": {
			nodes: pair(fail), run: RunFailing, state: []NodeState{live, ended(MarkDroppedReleased), ended(MarkDroppedBlocked)},
			want: []Op{{Kind: OpRun, Run: RunRunning}, reviveOp(1, 0, MarkDroppedReleased), reviveOp(2, 2, MarkDroppedBlocked)},
		},
		"another failure still holds down": {
			nodes: pair(cancel), state: []NodeState{completed, discarded, ended(MarkDroppedBlocked)},
			want: []Op{finish(RunCompleted)},
		},
		"a node that has been released is left to its worker": {
			nodes: pair(cancel), state: []NodeState{discarded, completed, live},
		},
		"a cancelled run": {
			nodes: pair(fail), run: RunCancelling, state: []NodeState{completed, live, blocked(1)},
			want: []Op{cancelOp(1, MarkCancelledReleased), cancelOp(2, MarkCancelledBlocked), finish(RunCancelled)},
		},
		"a cancelled run that has failed as well": {
			nodes: pair(fail), run: RunCancelling, state: []NodeState{discarded, completed, ended(MarkDroppedBlocked)},
			want: []Op{finish(RunCancelled)},
		},
		"the deadline": {
			nodes: pair(run), late: true, state: []NodeState{completed, live, blocked(1)},
			want: []Op{failing, cancelOp(1, MarkDroppedReleased), cancelOp(2, MarkDroppedBlocked), finish(RunFailed)},
		},
		"a run that has ended": {nodes: pair(fail), run: RunFailed, state: []NodeState{live, live, blocked(2)}},
	} {
		s := State{Run: tt.run, Nodes: tt.state, Overdue: tt.late}
		if s.Run == 0 {
			s.Run = RunRunning
		}
		if diff := cmp.Diff(tt.want, Plan(&Graph{Nodes: tt.nodes}, &s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReopenByExample(t *testing.T) {
	t.Parallel()
	g := &Graph{Nodes: []Node{node(wire.DepFail), node(wire.DepFail), node(wire.DepCancel, 0), node(wire.DepRun, 0, 1), node(wire.DepRun, 2)}}
	s := &State{Run: RunRunning, Nodes: []NodeState{discarded, live, ended(MarkDroppedBlocked), blocked(1), completed}}

	// What has to wait again comes before the node that it waits for.
	want := []Op{{Kind: OpBlock, Node: 3, Left: 2}, {Kind: OpReopen, Node: 0}, reviveOp(2, 1, MarkDroppedBlocked)}
	if diff := cmp.Diff(want, Reopen(g, s, []int{0})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ops := Reopen(g, s, []int{1, 2, 3, 4, 5, -1}); len(ops) > 0 {
		t.Errorf("nothing of this is discarded: %+v", ops)
	}
	s.Nodes[0].NoBody = true
	if ops := Reopen(g, s, []int{0}); len(ops) > 0 {
		t.Errorf("a node without a body: %+v", ops)
	}

	late := &State{Run: RunFailed, Overdue: true, Nodes: []NodeState{ended(MarkDroppedReleased)}}
	want = []Op{{Kind: OpRun, Run: RunRunning}, reviveOp(0, 0, MarkDroppedReleased)}
	if diff := cmp.Diff(want, Reopen(&Graph{Nodes: g.Nodes[:1]}, late, nil)); diff != "" {
		t.Errorf("after the deadline (-want +got):\n%s", diff)
	}
	if late.Run != RunFailed || late.Nodes[0].Ended != MarkDroppedReleased {
		t.Errorf("the state was changed: %+v", late)
	}
}

func TestDecisive(t *testing.T) {
	t.Parallel()
	g := &Graph{Nodes: []Node{node(wire.DepFail), node(wire.DepCancel, 0), node(wire.DepFail), node(wire.DepFail)}}
	s := &State{Nodes: []NodeState{discarded, ended(MarkDroppedBlocked), live, live}}
	if i := Decisive(g, s); i != -1 {
		t.Errorf("node %d decides, though all is contained", i)
	}
	s.Nodes[3] = discarded
	if i := Decisive(g, s); i != 3 {
		t.Errorf("node %d decides, want 3", i)
	}
}
