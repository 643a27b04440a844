package luascripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
)

// The nodes of nodeScene that stand for more than one state: the running one is what
// completes where another's completion is driven.
const (
	runningNode = 1
	sceneNodes  = 13
)

// endedAs are the marks of the nodes of nodeScene that have ended.
var endedAs = map[int]string{7: "c1", 8: "d", 9: "XR", 10: "XB", 11: "xR", 12: "xB"}

// nodeScene has run 3 with node 0 ready, 1 running, 2 scheduled, 3 retrying, 4 snoozed,
// 5 waiting, 6 blocked by 1 node, and those of endedAs. There is no run 4.
func nodeScene(l *lab) {
	l.Helper()
	l.ready("3.1")
	l.claim(1)
	r := l.graphRun("3", sceneNodes)
	r.Blocked = []luascripts.BuildBlocked{{Field: "d6", Count: 1}}
	l.build(r)
	for i, index := range []string{"scheduled", "retrying", "snoozed", "waiting"} {
		l.bulk(index+":q", []string{"3." + strconv.Itoa(i+2)}, l.now+1000, 1)
	}
	fields := []any{"left", sceneNodes - len(endedAs)}
	for node, mark := range endedAs {
		fields = append(fields, "s"+strconv.Itoa(node), mark)
	}
	l.put(l.rdb.HSet(ctx, l.key("run:3"), fields...))
	l.put(l.rdb.HDel(ctx, l.key("steps"), "3.7"))
	l.put(l.rdb.ZAdd(ctx, l.key("discarded:q"), redis.Z{Member: "3.8", Score: start}))
}

// nodeStateOf is the logical state of a node: by its run, and where it is live by its
// index.
func (l *lab) nodeStateOf(id string) cyclone.StepState {
	l.Helper()
	run, node, _ := strings.Cut(id, ".")
	marks := l.rdb.HMGet(ctx, l.key("run:"+run), "s"+node, "d"+node, "st").Val()
	ended, _ := marks[0].(string)
	blocked, _ := marks[1].(string)
	there := l.rdb.HExists(ctx, l.key("steps"), id).Val()
	switch {
	case marks[2] == nil:
		return ""
	case strings.HasPrefix(ended, "c"):
		return cyclone.StepCompleted
	case !there:
		return cyclone.StepCancelled
	case ended == "d":
		return cyclone.StepExhausted
	case ended != "":
		return cyclone.StepCancelled
	case blocked != "":
		return cyclone.StepBlocked
	}
	return l.stateOf(id)
}

func eachNode() (ids []string) {
	for run, n := range map[string]int{"3": sceneNodes, "4": 3} {
		for i := range n {
			ids = append(ids, fmt.Sprint(run, ".", i))
		}
	}
	return ids
}

// planEach applies an operation to every node by itself: a guard that does not hold
// stops nobody else's.
func planEach(make func(node int) luascripts.SweepOp) func(l *lab) {
	return func(l *lab) {
		for node := range sceneNodes {
			l.plan(make(node))
		}
	}
}

// endedOr is how the node has ended, or else how it has not.
func endedOr(node int, other string) string {
	if mark := endedAs[node]; mark != "" && mark[0] != 'c' {
		return mark
	}
	return other
}

func dueAt(due string, o luascripts.SweepOp) luascripts.SweepOp {
	o.Due = due
	return o
}

// completing completes the running node, on which every other one is said to depend.
func completing(delayMS int64) func(l *lab) {
	return func(l *lab) {
		var others []int
		for node := range sceneNodes {
			if node != runningNode {
				others = append(others, node)
			}
		}
		it := l.node("3.1:t1", before(others...))
		for i := range it.Children {
			it.Children[i].DelayMS = delayMS
		}
		l.advance(it)
	}
}

// ending ends every node as if it were running.
func ending(change ...func(*luascripts.AdvanceItem)) func(l *lab) {
	return func(l *lab) {
		for node := range sceneNodes {
			l.advance(l.node(fmt.Sprintf("3.%d:t1", node), change...))
		}
	}
}

func (l *lab) buildFour(change func(*luascripts.BuildRun)) {
	l.build(l.graphRun("4", 3, func(r *luascripts.BuildRun) {
		r.Blocked, r.Roots = nil, nil
		change(r)
	}))
}

func roots(due string) func(*luascripts.BuildRun) {
	return func(r *luascripts.BuildRun) {
		for node := range 3 {
			r.Roots = append(r.Roots, luascripts.BuildRoot{Lane: 1, Node: node, Due: due})
		}
	}
}

// driveNode tries a way on every node of nodeScene, whichever state it is in.
var driveNode = map[way]func(l *lab){
	{"build", "it depends on nothing", "build"}:            func(l *lab) { l.buildFour(roots("")) },
	{"build", "it depends on nothing, due later", "build"}: func(l *lab) { l.buildFour(roots("+9")) },
	{"build", "it depends on others", "build"}: func(l *lab) {
		l.buildFour(func(r *luascripts.BuildRun) { r.Blocked = blockedBy(0, 3, 1) })
	},
	{"advance", "the last that it waits for completes", "advance"}:            completing(0),
	{"advance", "the last that it waits for completes, due later", "advance"}: completing(9),
	{"sweep", "it waits for nothing more", "sweep"}: planEach(func(node int) luascripts.SweepOp {
		return op(luascripts.SweepRelease, node, "1", "")
	}),
	{"sweep", "it waits for nothing more, due later", "sweep"}: planEach(func(node int) luascripts.SweepOp {
		return dueAt("+9", op(luascripts.SweepRelease, node, "1", ""))
	}),
	{"complete", "", "advance"}: ending(),
	{"discard", "", "advance"}:  ending(func(it *luascripts.AdvanceItem) { it.Op = luascripts.OpDiscard }),
	{"retry", "by an operator", "sweep"}: planEach(func(node int) luascripts.SweepOp {
		return op(luascripts.SweepReopen, node, endedOr(node, "d"), "")
	}),
	{"retry", "with what had cancelled it", "sweep"}: planEach(func(node int) luascripts.SweepOp {
		return op(luascripts.SweepRevive, node, dropped(node), "")
	}),
	{"retry", "with what had cancelled it, due later", "sweep"}: planEach(func(node int) luascripts.SweepOp {
		return dueAt("+9", op(luascripts.SweepRevive, node, dropped(node), ""))
	}),
	{"retry", "with what had cancelled it, and it waits for others", "sweep"}: planEach(func(node int) luascripts.SweepOp {
		return op(luascripts.SweepRevive, node, dropped(node), "1")
	}),
	{"cancel", "by an operator, with its run or because of a failure", "sweep"}: func(l *lab) {
		planEach(func(node int) luascripts.SweepOp { return op(luascripts.SweepCancel, node, "", "XR") })(l)
		planEach(func(node int) luascripts.SweepOp { return op(luascripts.SweepDrop, node, "", "XB") })(l)
	},
	{"delete", "", "delete"}: func(l *lab) { l.delete(eachNode()...) },
	{"purge", "", "purge"}:   drive[way{"purge", "", "purge"}],
	{"forget", "with its run, when that has ended", "forget"}: func(l *lab) {
		l.put(l.rdb.ZAdd(ctx, l.key("runs"), redis.Z{Member: "3", Score: start}))
		l.forget(luascripts.ForgetInput{ID: "3", Now: true, Last: true, Members: eachNode()})
	},
	// What is in no row: it changes no state.
	{"count", "", "sweep"}: planEach(func(node int) luascripts.SweepOp { return op(luascripts.SweepCount, node, "1", "2") }),
}

// dropped is as what a cancelled node has ended.
func dropped(node int) string {
	if mark := endedOr(node, "XR"); mark != "d" {
		return mark
	}
	return "XR"
}

// TestNodeTransitions drives every verb that concerns nodes on a node in every state:
// what the table says happens, and nothing else.
func TestNodeTransitions(t *testing.T) {
	t.Parallel()
	to := map[way]map[cyclone.StepState]cyclone.StepState{}
	for _, tr := range queue.NodeTransitions() {
		w := way{tr.Verb, tr.When, tr.Script}
		if driveNode[w] == nil {
			t.Errorf("%v is in the table and not driven", w)
			continue
		}
		if to[w] == nil {
			to[w] = map[cyclone.StepState]cyclone.StepState{}
		}
		if _, twice := to[w][tr.From]; twice {
			t.Errorf("%v from %q is in the table twice", w, tr.From)
		}
		to[w][tr.From] = tr.To
	}
	for w, f := range driveNode {
		t.Run(w.verb+" "+w.when+" "+w.script, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				nodeScene(l)
				was := map[string]cyclone.StepState{}
				for _, id := range eachNode() {
					was[id] = l.nodeStateOf(id)
				}
				f(l)
				for _, id := range eachNode() {
					if w.verb == "advance" && id == "3.1" || w.verb == "forget" && !was[id].Finished() {
						continue // the one that completes; no run that has ended has such nodes
					}
					want, moves := to[w][was[id]]
					if !moves {
						want = was[id]
					}
					if got := l.nodeStateOf(id); got != want {
						l.Errorf("%s of %s, which was %q: it is %q, not %q", w.verb, id, was[id], got, want)
					}
				}
			})
		})
	}
}
