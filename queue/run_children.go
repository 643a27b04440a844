package queue

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// childHold is when the sweep looks at children that an operator ends, if whoever
// does it has not told their parents by then.
const childHold = 30 * time.Second

// tellingParents makes an operation that ends steps tell the steps that wait for them.
// What has to be told is on the sweep before anything ends, so that it is told even
// when this process does not come to it.
func tellingParents(end operation) operation {
	return func(ctx context.Context, steps []*stored) ([]error, error) {
		var children []*stored
		for _, s := range steps {
			if s.env != nil && s.env.Parent != nil {
				children = append(children, s)
			}
		}
		if len(children) == 0 {
			return end(ctx, steps)
		}
		p := steps[0].part
		due := p.client.clock.nowMS() + childHold.Milliseconds()
		items := make([]redis.Z, len(children))
		for i, s := range children {
			items[i] = redis.Z{Score: float64(due), Member: s.childItem()}
		}
		if err := p.client.rdb.ZAddNX(ctx, p.keys.sweep(), items...).Err(); err != nil {
			return nil, refine(err)
		}
		errs, err := end(ctx, steps)
		if err != nil {
			return nil, err
		}
		for _, s := range children {
			// What does not get through now is the sweep's.
			if settled, err := p.tellParent(ctx, s.text, s.env.Parent.Step, s.env.Parent.Signal); err == nil && settled {
				_ = p.client.rdb.ZRem(ctx, p.keys.sweep(), s.childItem()).Err()
			}
		}
		return errs, nil
	}
}

// childItem is the work of telling whoever waits for the child.
func (s *stored) childItem() string {
	return strings.Join([]string{"c", s.text, s.env.Parent.Step, s.env.Parent.Signal}, " ")
}
