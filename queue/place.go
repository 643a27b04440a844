package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// place is one index of one queue on one partition. Lists and operations on many
// visit places in a fixed order, so that a cursor can name where they are.
type place struct {
	Queue string
	State cyclone.StepState
	Part  int
	// Lane is the ready list; laneReopened are the leased steps that an operator
	// opened again, which are ready as soon as the lease is given up.
	Lane int
}

const laneReopened = laneCount

// visited are the states that have places, in the order of a visit: mostly that in
// which a step goes through them, so that few steps slip by.
var visited = []cyclone.StepState{
	cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting, cyclone.StepReady, cyclone.StepRunning,
	cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled,
}

func (p place) compare(o place) int {
	return cmp.Or(
		cmp.Compare(p.Queue, o.Queue),
		cmp.Compare(slices.Index(visited, p.State), slices.Index(visited, o.State)),
		cmp.Compare(p.Part, o.Part), cmp.Compare(p.Lane, o.Lane),
	)
}

// checkQueueState refuses what names no queue or no state. Empty is all.
func checkQueueState(queue string, state cyclone.StepState) error {
	if queue != "" && !wire.ValidName(queue) {
		return fmt.Errorf("queue: queue %.80q %s", queue, wire.NameRule)
	}
	switch state {
	case "", cyclone.StepBlocked:
		return nil
	}
	if !slices.Contains(visited, state) {
		return fmt.Errorf("queue: there is no state %.40q", state)
	}
	return nil
}

// places returns where the steps of a queue on some partitions can be when they
// are in one of the states, in order.
func places(q queueParts, states []cyclone.StepState) []place {
	var all []place
	for _, state := range visited {
		if !slices.Contains(states, state) {
			continue
		}
		lanes := 1
		if state == cyclone.StepReady {
			lanes = laneReopened + 1
		}
		for _, p := range q.parts {
			for lane := range lanes {
				all = append(all, place{Queue: q.name, State: state, Part: p, Lane: lane})
			}
		}
	}
	return all
}

// key is the index of a place, and whether it is a list.
func (d *deployment) key(p place) (key string, list bool) {
	k := d.parts[p.Part].keys.queue(p.Queue)
	switch p.State {
	case cyclone.StepReady:
		if p.Lane < laneCount {
			return k.ready[p.Lane], true
		}
		return k.leased, false
	case cyclone.StepRunning:
		return k.leased, false
	}
	return k.index(p.State), false
}

// index is the sorted set of a state that has one in ids.
func (k *queueKeys) index(state cyclone.StepState) string {
	switch state {
	case cyclone.StepScheduled:
		return k.scheduled
	case cyclone.StepRetrying:
		return k.retrying
	case cyclone.StepSnoozed:
		return k.snoozed
	case cyclone.StepWaiting:
		return k.waiting
	case cyclone.StepCompleted:
		return k.completed
	case cyclone.StepExhausted:
		return k.discarded
	}
	return k.cancelled
}

// occupied returns those of the places that hold anything.
func (d *deployment) occupied(ctx context.Context, places []place) ([]place, error) {
	counts := make([]*redis.IntCmd, len(places))
	_, err := d.parts[0].client.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range places {
			if key, list := d.key(p); list {
				counts[i] = pipe.LLen(ctx, key)
			} else {
				counts[i] = pipe.ZCard(ctx, key)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var kept []place
	for i, p := range places {
		if counts[i].Val() > 0 {
			kept = append(kept, p)
		}
	}
	return kept, nil
}
