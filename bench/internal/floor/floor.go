// Package floor is what bare go-redis calls of the protocol's minimum reach.
// There is no fence, no retry, no uniqueness and no priority in it, only bodies
// in a hash, ids in a list and one lease per claimed job. Nothing that keeps
// at-least-once with leases can be much faster on the same server.
package floor

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// Batch is how many jobs share a script call.
	Batch = 100
	// Connections is how many connections call at once.
	Connections = 4
	// Channel gets a message for every job of EnqueueAndWake.
	Channel = "floor:wake"

	lease = 30 * time.Second

	bodiesKey = "floor:{0}:bodies"
	readyKey  = "floor:{0}:ready"
	leasedKey = "floor:{0}:leased"
)

var (
	//go:embed enqueue.lua
	enqueueSource string
	//go:embed turn.lua
	turnSource string
	//go:embed enqueue_wake.lua
	wakeSource string

	enqueueScript = redis.NewScript(enqueueSource)
	turnScript    = redis.NewScript(turnSource)
	wakeScript    = redis.NewScript(wakeSource)

	turnKeys    = []string{bodiesKey, readyKey, leasedKey}
	enqueueKeys = []string{bodiesKey, readyKey}
)

// Job is what the floor stores: an id of its own and a body.
type Job struct{ ID, Body string }

// Enqueue enqueues all jobs, some thousand at most, with one script call.
func Enqueue(ctx context.Context, rdb *redis.Client, jobs ...Job) error {
	args := make([]any, 0, 2*len(jobs))
	for _, job := range jobs {
		args = append(args, job.ID, job.Body)
	}
	return enqueueScript.Run(ctx, rdb, enqueueKeys, args...).Err()
}

// EnqueueAndWake enqueues one job and publishes a message on Channel.
func EnqueueAndWake(ctx context.Context, rdb *redis.Client, job Job) error {
	return wakeScript.Run(ctx, rdb, enqueueKeys, job.ID, job.Body, Channel).Err()
}

// Worker claims and completes over one connection, from one goroutine.
type Worker struct {
	rdb     *redis.Client
	token   string
	claimed []string // the ids of the last claim, completed by the next turn
	args    []any
}

// NewWorker returns a worker whose leases carry the token.
func NewWorker(rdb *redis.Client, token string) *Worker {
	return &Worker{rdb: rdb, token: token}
}

// Turn completes what the last turn claimed and claims up to want jobs. It
// returns how many it completed and the bodies of those that it claimed.
func (w *Worker) Turn(ctx context.Context, want int) (completed int, bodies []any, err error) {
	completed = len(w.claimed)
	expiry := time.Now().Add(lease).UnixMilli()
	w.args = append(w.args[:0], w.token, expiry, want, completed)
	for _, id := range w.claimed {
		w.args = append(w.args, id+":"+w.token)
	}
	for _, id := range w.claimed {
		w.args = append(w.args, id)
	}
	reply, err := turnScript.Run(ctx, w.rdb, turnKeys, w.args...).Slice()
	if err != nil {
		return 0, nil, err
	}
	w.claimed = w.claimed[:0]
	if len(reply) < 2 {
		return completed, nil, nil
	}
	ids, _ := reply[0].([]any)
	for _, id := range ids {
		id, _ := id.(string)
		w.claimed = append(w.claimed, id)
	}
	bodies, _ = reply[1].([]any)
	return completed, bodies, nil
}
