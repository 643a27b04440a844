package faults_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

const (
	// approval is the signal that some runs wait for, with approved as its payload.
	approval = "approval"
	approved = 100
	// fanWidth is how many nodes run beside each other in a fan.
	fanWidth = 20
)

// voyage is a run that was asked for, and what must come of it.
type voyage struct {
	b      *workflow.Builder // nil of a task alone
	result workflow.Ref[int]
	input  stage // of a task alone

	want    int
	waits   bool                // for the signal
	silent  int                 // nodes without a handler
	kids    int                 // child runs
	tasks   []string            // nodes that record steps
	parents map[string][]string // of each node with a handler
}

// shapes are the kinds of runs, each as often as it is to come up.
var shapes = [...]func(*voyage, *rand.Rand){
	chain, chain, chain, diamond, diamond, diamond, fan, taskInside, taskInside, taskAlone, taskAlone, taskAlone, wait, wait, failsOnce,
}

// plan makes up a run.
func plan(dice *rand.Rand) *voyage {
	v := &voyage{parents: make(map[string][]string)}
	var opts []workflow.RunOption
	if dice.IntN(4) == 0 {
		opts = append(opts, cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprint(dice.Uint64())}))
	}
	v.b = workflow.New("voyage", opts...)
	shapes[dice.IntN(len(shapes))](v, dice)
	return v
}

// completions is how many steps have to complete, child runs included.
func (v *voyage) completions() int { return len(v.parents) + v.silent + v.kids }

// first adds a node without others before it.
func (v *voyage) first(node string, in stage) workflow.Ref[int] {
	v.parents[node] = nil
	return workflow.Run(v.b, node, partStep, workflow.Value(in))
}

// then adds a node behind another one, from which it takes its number.
func (v *voyage) then(node string, def cyclone.Returning[stage, int], before workflow.Ref[int], in stage) workflow.Ref[int] {
	v.parents[node] = []string{before.Name()}
	return workflow.Run(v.b, node, def, workflow.Join(&in, workflow.Bind(&in.From, before)))
}

// together adds a node that adds up what others return.
func (v *voyage) together(node string, before ...workflow.Ref[int]) workflow.Ref[int] {
	for _, ref := range before {
		v.parents[node] = append(v.parents[node], ref.Name())
	}
	return workflow.Run(v.b, node, gatherStep, workflow.All(before...))
}

// short is the input of a node that takes a while in which its worker can be killed.
func short(dice *rand.Rand) stage {
	return stage{Takes: time.Duration(dice.Int64N(int64(100 * time.Millisecond)))}
}

func chain(v *voyage, dice *rand.Rand) {
	v.result = v.first("n1", short(dice))
	for n := 2; n <= 5; n++ {
		v.result = v.then(fmt.Sprint("n", n), partStep, v.result, short(dice))
	}
	v.want = 5
}

func diamond(v *voyage, dice *rand.Rand) {
	top := v.first("top", short(dice))
	left, right := v.then("left", partStep, top, short(dice)), v.then("right", partStep, top, short(dice))
	v.result, v.want = v.together("bottom", left, right), 4
}

func fan(v *voyage, dice *rand.Rand) {
	root := v.first("root", short(dice))
	wide := make([]workflow.Ref[int], fanWidth)
	for i := range wide {
		wide[i] = v.then(fmt.Sprint("wide.", i), partStep, root, short(dice))
	}
	v.result, v.want = v.together("sum", wide...), 2*fanWidth
}

func taskInside(v *voyage, dice *rand.Rand) {
	before := v.first("before", short(dice))
	task := v.then("task", fiveTask, before, v.pausing(dice))
	v.tasks = []string{"task"}
	v.result, v.want = v.then("behind", partStep, task, short(dice)), 1+recordedSteps+1
}

func taskAlone(v *voyage, dice *rand.Rand) {
	v.b, v.input = nil, v.pausing(dice)
	v.tasks, v.parents["five"] = []string{"five"}, nil
	v.want = recordedSteps
}

// pausing is the input of a task, which may pause.
func (v *voyage) pausing(dice *rand.Rand) stage {
	in := short(dice)
	in.Pause = []string{"", "", "sleep", "signal", "child"}[dice.IntN(5)]
	switch in.Pause {
	case "signal":
		v.waits = true
	case "child":
		v.kids++
	}
	return in
}

func wait(v *voyage, dice *rand.Rand) {
	before := v.first("before", short(dice))
	v.silent, v.waits = 1, true
	waited := workflow.WaitSignal[int](v.b, approval, 0, workflow.After(before))
	in := short(dice)
	v.parents["behind"] = []string{"before"}
	v.result = workflow.Run(v.b, "behind", partStep, workflow.Join(&in, workflow.Bind(&in.From, waited)))
	v.want = approved + 1
}

func failsOnce(v *voyage, dice *rand.Rand) {
	before := v.first("before", short(dice))
	in := short(dice)
	in.Fails = 1
	v.result = v.then("behind", partStep, v.then("fails", partStep, before, in), short(dice))
	v.want = 3
}
