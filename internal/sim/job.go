package sim

import (
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// job is a step's input: what its handler is to do.
type job struct {
	Key  string // no other job has it
	Plan string
	N    int           // of the plan
	Work time.Duration // how long an attempt takes
	// Delay is what the enqueue asked for, below 0 when nothing follows from it.
	Delay time.Duration
}

func (j job) String() string {
	return fmt.Sprintf("%s %s %d %d %d", j.Key, j.Plan, j.N, j.Work, j.Delay)
}

func parseJob(text string) (j job, err error) {
	_, err = fmt.Sscan(text, &j.Key, &j.Plan, &j.N, &j.Work, &j.Delay)
	return j, err
}

var codec = queue.NewMsgpackCodec(0)

// jobOf reads the job of a stored step. Runs of many steps have none, and nodes that
// wait or whose input is of others.
func jobOf(id string, env *queue.Envelope) job {
	var text string
	err := codec.Unmarshal(env.Payload, &text)
	if err == nil {
		var j job
		if j, err = parseJob(text); err == nil {
			return j
		}
	}
	if env.Codec != graphCodec && env.Part == nil {
		panic(err)
	}
	return job{Key: "of-" + id, Plan: "none", Delay: -1}
}
