package queue

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/dag"
)

// readBodies finds out of which nodes that can still run there is no body any more:
// somebody has deleted them.
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
		for k, i := range part {
			v.state.Nodes[i].NoBody = !there[k].Val()
		}
	}
	return nil
}
