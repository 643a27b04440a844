package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
)

// runView is a run of many steps as it was read.
type runView struct {
	p     *partition
	id    cyclone.RunID
	text  string // the id as it is stored
	env   *Envelope
	graph *dag.Graph
	state dag.State
	left  int   // nodes that have not ended
	finMS int64 // when it ended, 0 when it has not
	nowMS int64 // Redis' time, when it was read
}

// runFields are the fields of a run as a whole.
var runFields = []string{"st", "gen", "dl", "fin", "left"}

// errNoRun tells that there is no run of many steps under an id.
var errNoRun = errors.New("queue: no run of many steps")

// loadRun reads a run. It returns errNoRun when there is none under the id, or one
// that is not complete yet.
func (p *partition) loadRun(ctx context.Context, id cyclone.RunID) (*runView, error) {
	v := &runView{p: p, id: id, text: id.String()}
	pipe := p.client.rdb.Pipeline()
	body := pipe.HGet(ctx, p.keys.steps(), v.text)
	fields := pipe.HMGet(ctx, p.keys.run(v.text), runFields...)
	now := pipe.Time(ctx)
	_, _ = pipe.Exec(ctx) // each command carries its own error
	for _, err := range []error{body.Err(), fields.Err(), now.Err()} {
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
	}
	values := stringsOf(fields.Val())
	if body.Err() != nil || values[0] == "" {
		return nil, errNoRun
	}
	v.nowMS = now.Val().UnixMilli()
	if err := v.read([]byte(body.Val()), values); err != nil {
		return nil, err
	}
	return v, v.readNodes(ctx)
}

// read reads the graph and what concerns the run as a whole.
func (v *runView) read(body []byte, values []string) (err error) {
	v.env = new(Envelope)
	if err := v.env.Decode(body); err != nil {
		return err
	}
	if v.env.Codec != codecGraph {
		return errNoRun
	}
	if v.graph, err = graphOf(v.env); err != nil {
		return err
	}
	v.state.Run = dag.RunMark(values[0][0])
	v.state.Generation, _ = strconv.ParseInt(values[1], 10, 64)
	if deadline, err := strconv.ParseInt(values[2], 10, 64); err == nil {
		v.state.Overdue = deadline <= v.nowMS
	}
	v.finMS, _ = strconv.ParseInt(values[3], 10, 64)
	v.left, _ = strconv.Atoi(values[4])
	return nil
}

// readNodes reads how the nodes stand.
func (v *runView) readNodes(ctx context.Context) error {
	const batch = inputBatch / 2
	n := len(v.graph.Nodes)
	v.state.Nodes = make([]dag.NodeState, n)
	var cmds []*redis.SliceCmd
	pipe := v.p.client.rdb.Pipeline()
	key := v.p.keys.run(v.text)
	for from := 0; from < n; from += batch {
		var fields []string
		for i := from; i < min(from+batch, n); i++ {
			fields = append(fields, endedField(i), blockedField(i))
		}
		cmds = append(cmds, pipe.HMGet(ctx, key, fields...))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for c, cmd := range cmds {
		values := stringsOf(cmd.Val())
		for k := 0; k < len(values); k += 2 {
			i := c*batch + k/2
			state, err := nodeState(values[k], values[k+1])
			if err != nil {
				return fmt.Errorf("node %s: %w", v.graph.Nodes[i].Name, err)
			}
			v.state.Nodes[i] = state
		}
	}
	return nil
}

func blockedField(node int) string { return "d" + strconv.Itoa(node) }

// nodeState reads how a node stands: its fields s and d, "" for one that is not
// there.
func nodeState(ended, blocked string) (dag.NodeState, error) {
	mark, attempt, ok := dag.ParseMark(ended)
	if !ok {
		return dag.NodeState{}, fmt.Errorf("its mark is %.40q", ended)
	}
	n := dag.NodeState{Ended: mark, Attempt: attempt}
	if blocked != "" && mark == dag.MarkNone {
		left, err := strconv.Atoi(blocked)
		if err != nil || left < 0 {
			return n, fmt.Errorf("it is blocked by %.40q", blocked)
		}
		n.Blocked, n.Left = true, left
	}
	return n, nil
}
