package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/dag"
)

// readBodies finds out of which nodes that can still run there is no body any more:
// somebody has deleted them, or they have completed since the view was read. Their
// marks, which are read after the bodies, tell which.
func (v *runView) readBodies(ctx context.Context) error {
	var which []int
	for i := range v.state.Nodes {
		if n := &v.state.Nodes[i]; n.Ended == dag.MarkNone || n.Ended.Dropped() {
			which = append(which, i)
		}
	}
	const batch = 1000
	for len(which) > 0 {
		part := which[:min(len(which), batch)]
		which = which[len(part):]
		there := make([]*redis.BoolCmd, len(part))
		pipe := v.p.client.rdb.Pipeline()
		for k, i := range part {
			there[k] = pipe.HExists(ctx, v.p.keys.steps(), memberOf(v.text, i))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		var bodiless []int
		for k, i := range part {
			if !there[k].Val() {
				bodiless = append(bodiless, i)
			}
		}
		if err := v.readBodiless(ctx, bodiless); err != nil {
			return err
		}
	}
	return nil
}

// readBodiless reads anew how nodes without a body stand.
func (v *runView) readBodiless(ctx context.Context, which []int) error {
	if len(which) == 0 {
		return nil
	}
	marks := make([]*redis.SliceCmd, len(which))
	pipe := v.p.client.rdb.Pipeline()
	for k, i := range which {
		marks[k] = pipe.HMGet(ctx, v.p.keys.run(v.text), endedField(i), blockedField(i))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for k, i := range which {
		found := stringsOf(marks[k].Val())
		n, err := nodeState(found[0], found[1])
		if err != nil {
			return fmt.Errorf("node %s: %w", v.graph.Nodes[i].Name, err)
		}
		n.NoBody = true
		v.state.Nodes[i] = n
	}
	return nil
}
