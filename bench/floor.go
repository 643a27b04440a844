package main

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The floor: what bare go-redis calls of the protocol's minimum reach. There is
// no fence, no retry, no uniqueness and no priority in it, only bodies in a
// hash, ids in a list and one lease per claimed job. Nothing that keeps
// at-least-once with leases can be much faster on the same server.
const (
	floorBatch       = 100
	floorConnections = 4
	floorLease       = 30 * time.Second

	floorBodies  = "floor:{0}:bodies"
	floorReady   = "floor:{0}:ready"
	floorLeased  = "floor:{0}:leased"
	floorChannel = "floor:wake"
)

var (
	//go:embed floor/enqueue.lua
	floorEnqueueSource string
	//go:embed floor/turn.lua
	floorTurnSource string
	//go:embed floor/enqueue_wake.lua
	floorWakeSource string

	floorEnqueueScript = redis.NewScript(floorEnqueueSource)
	floorTurnScript    = redis.NewScript(floorTurnSource)
	floorWakeScript    = redis.NewScript(floorWakeSource)

	floorTurnKeys    = []string{floorBodies, floorReady, floorLeased}
	floorEnqueueKeys = []string{floorBodies, floorReady}
)

// floorWorker claims and completes over one connection.
type floorWorker struct {
	rdb     *redis.Client
	token   string
	claimed []string // the ids of the last claim, completed by the next turn
	args    []any
}

func newFloorWorker(rdb *redis.Client, token string) *floorWorker {
	return &floorWorker{rdb: rdb, token: token}
}

// turn completes what the last turn claimed, claims up to want jobs and returns
// how many it completed and how many it claimed.
func (w *floorWorker) turn(ctx context.Context, want int) (completed, claimed int, err error) {
	completed = len(w.claimed)
	expiry := time.Now().Add(floorLease).UnixMilli()
	w.args = append(w.args[:0], w.token, expiry, want, completed)
	for _, id := range w.claimed {
		w.args = append(w.args, id+":"+w.token)
	}
	for _, id := range w.claimed {
		w.args = append(w.args, id)
	}
	reply, err := floorTurnScript.Run(ctx, w.rdb, floorTurnKeys, w.args...).Slice()
	if err != nil {
		return 0, 0, err
	}
	w.claimed = w.claimed[:0]
	if len(reply) == 0 {
		return completed, 0, nil
	}
	ids, _ := reply[0].([]any)
	for _, id := range ids {
		id, _ := id.(string)
		w.claimed = append(w.claimed, id)
	}
	return completed, len(ids), nil
}

// floorEnqueue enqueues the jobs first..first+n-1 in batches over one connection.
func floorEnqueue(ctx context.Context, rdb *redis.Client, first, n int) error {
	body := encodedPayload()
	args := make([]any, 0, 2*floorBatch)
	for done := 0; done < n; {
		size := min(floorBatch, n-done)
		args = args[:0]
		for i := range size {
			args = append(args, strconv.Itoa(first+done+i), body)
		}
		if err := floorEnqueueScript.Run(ctx, rdb, floorEnqueueKeys, args...).Err(); err != nil {
			return err
		}
		done += size
	}
	return nil
}
