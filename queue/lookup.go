package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/retry"
)

// stored is a step as it was read.
type stored struct {
	id    cyclone.RunID
	text  string // the id as it is stored
	part  *partition
	queue string
	state cyclone.StepState
	score int64 // in the index of the state; 0 when it is in none
	env   *Envelope
	err   error // why env cannot be read; it stands in then

	many     bool // it is a run of many steps; env holds its graph, and nothing but id and env is set
	deleted  bool // a node whose body is gone without its having completed
	attempt  int  // of a completed node, as its run has it
	counters Counters
	result   *result // of a completed step
	history  string  // written by others than the lease's holder
	worker   string  // of a running step
}

// setBody reads the envelope. What cannot be read is shown as such: an operator
// must be able to see and delete it.
func (s *stored) setBody(body string) {
	s.env = new(Envelope)
	if s.err = s.env.Decode([]byte(body)); s.err != nil {
		s.env = &Envelope{Kind: unreadableKind, Node: unreadableKind, Queue: s.queue, Priority: wire.Default}
	}
}

// setResult reads what is kept of a completed step.
func (s *stored) setResult(text string) {
	if r, err := decodeResult([]byte(text)); text != "" && err == nil {
		s.result = &r
	}
}

// info is the step as users see it.
func (s *stored) info() cyclone.StepInfo {
	e := s.env
	info := cyclone.StepInfo{
		RunID: s.id, Node: e.Node, Kind: e.Kind, Queue: s.queue, Priority: cyclone.Priority(e.Priority), State: s.state,
		Attempts: e.Failures, MaxAttempts: e.MaxAttempts, EnqueuedAt: timeOrZero(e.EnqueuedMs), Snoozes: e.Snoozes,
		LostStarted: s.counters.LostStarted, LostUnstarted: s.counters.LostUnstarted, Interruptions: s.counters.Interruptions,
		Worker: s.worker,
	}
	if s.counters.Limit > 0 {
		info.MaxAttempts = s.counters.Limit
	}
	for i := range e.History {
		if r := &e.History[i]; r.Type == RecordFailed || r.Type == RecordDiscarded {
			info.Error, info.Code = r.Error, r.Code
		}
	}
	switch s.state {
	case cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting:
		if due := timeOrZero(s.score / scoreUnit); due.Before(wire.MaxStart) { // else only a signal ends its wait
			info.DueAt = due
		}
	case cyclone.StepRunning:
		info.Attempts++
	case cyclone.StepCompleted:
		info.Attempts++
		if s.attempt > 0 {
			info.Attempts = s.attempt
		}
		if s.result != nil {
			info.Attempts = s.result.Attempt
		}
	}
	info.FinishedAt = s.finishedAt()
	if s.err != nil {
		info.Error, info.Code = s.err.Error(), retry.CodeDecode
	}
	return info
}

// finishedAt is when the step ended, zero when it has not or nobody knows.
func (s *stored) finishedAt() time.Time {
	switch s.state {
	case cyclone.StepCompleted:
		if s.result != nil {
			return timeOrZero(s.result.FinishedMS)
		}
	case cyclone.StepExhausted, cyclone.StepCancelled:
		return timeOrZero(s.score)
	}
	return time.Time{}
}

// scoreUnit is what a due time or a lease's end in ms is multiplied with, to leave
// room for the lane.
const scoreUnit = 16

func timeOrZero(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return timeOf(ms)
}

// look reads one step. It returns [cyclone.ErrNotFound] when nothing is kept of it.
func (c *Client) look(ctx context.Context, id cyclone.RunID) (*stored, error) {
	d, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if id <= 0 {
		return nil, fmt.Errorf("queue: run %d: %w", id, cyclone.ErrNotFound)
	}
	s := &stored{id: id, text: id.String(), part: d.of(int64(id))}
	found, err := s.find(ctx)
	if err == nil && !found {
		err = cyclone.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("queue: run %v: %w", id, err)
	}
	return s, nil
}

// find reads the body, which names the queue, and then all of the step in the one
// instant of a script.
func (s *stored) find(ctx context.Context) (bool, error) {
	body, err := s.part.client.rdb.HGet(ctx, s.part.keys.steps(), s.text).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	queues := []string{""}
	s.setBody(body)
	if s.many = s.err == nil && s.env.Codec == codecGraph; s.many {
		return true, nil
	}
	if s.err == nil {
		queues[0] = s.env.Queue
	} else if queues, err = s.part.queueNames(ctx); err != nil {
		return false, err
	}
	for _, queue := range queues {
		s.queue = queue
		if found, err := s.read(ctx); err != nil || !found || s.state != "" {
			return found, err
		}
	}
	return true, s.resolve(ctx, queues)
}

// read asks the state script. The state stays empty for a step that is ready or
// running.
func (s *stored) read(ctx context.Context) (found bool, err error) {
	k, q := s.part.keys, s.part.keys.queue(s.queue)
	var call luascripts.Call
	luascripts.StateCall(&call, &luascripts.StateKeys{
		Steps: k.steps(), Ghosts: k.ghosts(), Tries: k.tries(), Results: k.results(), History: k.history(),
		Scheduled: q.scheduled, Retrying: q.retrying, Snoozed: q.snoozed, Waiting: q.waiting,
		Completed: q.completed, Discarded: q.discarded, Cancelled: q.cancelled,
	}, s.text)
	reply, err := luascripts.State.Run(ctx, s.part.client.rdb, call.Keys, call.Args)
	if err != nil {
		return false, err
	}
	raw := luascripts.ParseState(reply)
	if raw.State == luascripts.Absent {
		return false, nil
	}
	s.setBody(raw.Body)
	s.counters, s.history = parseCounters(raw.Counters), raw.History
	s.setResult(raw.Result)
	s.state, s.score = "", parseScore(raw.Score)
	switch {
	case raw.State != luascripts.Live:
		s.state = cyclone.StepState(raw.State)
	case strings.HasPrefix(raw.Ghost, ghostDropped):
		s.state = cyclone.StepCancelled // deleted a moment ago
	case raw.Ghost != "":
		s.state = cyclone.StepReady // opened again; its former attempt may still run
	}
	return true, nil
}

// resolve tells a running step from a ready one: there is a lease in its id.
func (s *stored) resolve(ctx context.Context, queues []string) error {
	s.state = cyclone.StepReady
	for _, queue := range queues {
		member, score, err := s.part.lease(ctx, queue, s.text)
		if err != nil {
			return err
		}
		if member != "" {
			s.state, s.queue, s.score, s.worker = cyclone.StepRunning, queue, score, holderOf(member)
			return nil
		}
	}
	return nil
}

// scanCount is how many entries one call of a scan looks at.
const scanCount = 500

// lease finds the lease of a step by its id.
func (p *partition) lease(ctx context.Context, queue, id string) (member string, score int64, err error) {
	key := p.keys.queue(queue).leased
	for cursor := uint64(0); ; {
		pairs, next, err := p.client.rdb.ZScan(ctx, key, cursor, id+":*", scanCount).Result()
		if err != nil {
			return "", 0, err
		}
		if len(pairs) >= 2 {
			return pairs[0], parseScore(pairs[1]), nil
		}
		if cursor = next; cursor == 0 {
			return "", 0, nil
		}
	}
}

// holderOf returns the worker that a member `id:token` of the lease set names.
func holderOf(member string) string {
	_, token, _ := strings.Cut(member, ":")
	return workerOf(token)
}

// parseScore reads a score as Redis writes it. All of ours are whole and below 2⁵³.
func parseScore(text string) int64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return wholeScore(f)
}

// wholeScore is a score as a number; what cannot be one of ours, such as the
// padding's, reads as 0.
func wholeScore(f float64) int64 {
	if !(f >= -maxStoredInt && f <= maxStoredInt) {
		return 0
	}
	return int64(f)
}
