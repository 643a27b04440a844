package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// ErrFull is returned when Redis has reached its maxmemory. Nothing was written;
// workers go on, so that room is made.
var ErrFull = errors.New("queue: redis is out of memory")

// connectFor is how long a call that has had no effect yet is tried, so that a
// program without its server hears of it soon.
const connectFor = 2 * time.Second

const (
	resendFirst = 5 * time.Millisecond
	resendMost  = 500 * time.Millisecond
)

// errLaneVoid tells that the call was not applied and its lane is of no use any
// more: the call may be made again on another lane.
var errLaneVoid = errors.New("queue: session lane is void")

// errIDsLost tells that the partition's counter of ids has to be restored before any
// lane gets another block.
var errIDsLost = errors.New("queue: counter of ids is lost")

// tries says how long to go on sending and tells what happened.
type tries struct {
	budget   time.Duration // 0: as long as ctx lives
	replicas int           // wait for as many replicas
	acks     int           // how many have confirmed
	unsure   bool          // a try without an answer may have been applied
}

// session makes a numbered call on the lane, sent again until it is answered.
// Arguments 0 and 1 of the call are the lane's name and number.
func (p *partition) session(ctx context.Context, l *lane, script *luascripts.Script, call *luascripts.Call, t *tries) ([]any, error) {
	if err := p.ensure(ctx, l); err != nil {
		return nil, err
	}
	l.seq++
	call.Args[0], call.Args[1] = l.name, l.seq
	reply, err := p.resend(ctx, script, call, t)
	if err != nil {
		l.void = true
		if redis.HasErrorPrefix(err, "OOM") {
			p.forget(l)
		}
		if t.unsure {
			return nil, fmt.Errorf("%w: %w", cyclone.ErrUnknownOutcome, err)
		}
		return nil, err
	}
	switch status := luascripts.StatusOf(reply); status {
	case luascripts.OK:
		p.client.clock.observe(luascripts.Now(reply))
		return reply, nil
	case luascripts.IDsLost:
		l.void = true // restoring voids them all
		return nil, errIDsLost
	case luascripts.TooLarge:
		return nil, fmt.Errorf("queue: body larger than the limit of %d bytes", p.client.maxBody())
	case luascripts.Gap:
		l.void = true
		return nil, errLaneVoid
	case luascripts.NoSession:
		l.void = true
		if t.unsure {
			return nil, fmt.Errorf("%w: the session is gone", cyclone.ErrUnknownOutcome)
		}
		return nil, errLaneVoid
	default:
		l.void = true
		return nil, fmt.Errorf("%w: session answered %v", cyclone.ErrUnknownOutcome, status)
	}
}

// forget removes a void lane from the server, so that refused calls do not fill the
// memory that they are refused for. A late original of its last call finds no
// session and is refused. What cannot be removed now goes with its time.
func (p *partition) forget(l *lane) {
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	pipe := p.client.rdb.Pipeline()
	pipe.ZRem(ctx, p.keys.sessx(), l.name) // first: a late opening in between must not leave a lane that nothing forgets
	pipe.HDel(ctx, p.keys.sess(), l.name)
	_, _ = pipe.Exec(ctx)
}

// numbered makes a numbered call on an idle lane, and on another one if that is void.
// build fills the call anew for each lane.
func (p *partition) numbered(ctx context.Context, script *luascripts.Script, call *luascripts.Call, budget time.Duration, build func()) ([]any, error) {
	for {
		l := p.calls.take()
		call.Reset()
		build()
		reply, err := p.session(ctx, l, script, call, &tries{budget: budget})
		p.calls.put(l)
		if !errors.Is(err, errLaneVoid) {
			return reply, err
		}
	}
}

// operate is numbered for a single call outside the hot path.
func (p *partition) operate(ctx context.Context, script *luascripts.Script, build func(*luascripts.Call)) ([]any, error) {
	var call luascripts.Call
	return p.numbered(ctx, script, &call, p.client.cfg.ResendFor, func() { build(&call) })
}

// resend sends the call until it is answered, the budget is used up or ctx is
// done, with a growing and jittered pause in between.
func (p *partition) resend(ctx context.Context, script *luascripts.Script, call *luascripts.Call, t *tries) ([]any, error) {
	var deadline time.Time
	if t.budget > 0 {
		deadline = time.Now().Add(t.budget)
	}
	for pause := resendFirst; ; pause = min(2*pause, resendMost) {
		reply, err := p.try(ctx, script, call, t)
		if err == nil {
			return reply, nil
		}
		again, applied := classify(err)
		t.unsure = t.unsure || applied
		if !again {
			return nil, err
		}
		wait := pause/2 + time.Duration(p.client.cfg.Dice()*float64(pause))
		if ctx.Err() != nil || !deadline.IsZero() && time.Now().Add(wait).After(deadline) {
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
	}
}

func (p *partition) try(ctx context.Context, script *luascripts.Script, call *luascripts.Call, t *tries) (reply []any, err error) {
	if t.replicas == 0 {
		return script.Run(ctx, p.client.rdb, call.Keys, call.Args)
	}
	node, err := p.node(ctx)
	if err != nil {
		return nil, err
	}
	reply, t.acks, err = script.RunAndWait(ctx, node, call.Keys, call.Args, t.replicas, p.client.cfg.ReplicaTimeout.Milliseconds())
	return reply, err
}

// passing are the server's errors that pass by themselves. The call that got one
// was not executed.
var passing = []string{
	"LOADING", "READONLY", "ERR READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "NOREPLICAS",
	"MOVED", "ASK", "UNBLOCKED", "ERR max number of clients reached",
}

// classify tells whether a call that failed is worth sending again and whether
// it may have been executed all the same.
func classify(err error) (again, applied bool) {
	var fromServer redis.Error
	if errors.As(err, &fromServer) {
		for _, prefix := range passing {
			if strings.HasPrefix(fromServer.Error(), prefix) {
				return true, false
			}
		}
		return false, false
	}
	if errors.Is(err, redis.ErrClosed) {
		return false, false
	}
	if errors.Is(err, redis.ErrPoolTimeout) {
		return true, false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false, true
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return true, false
	}
	return true, true
}

// Passing reports whether a call that failed with err may succeed by itself later:
// Redis is away, loading or failing over. Errors of configuration do not pass.
func Passing(err error) bool {
	if errors.Is(err, ErrMismatch) || errors.Is(err, ErrClosed) {
		return false
	}
	again, _ := classify(err)
	return again || errors.Is(err, context.DeadlineExceeded)
}

// refine turns a server's error into the one that users know.
func refine(err error) error {
	if redis.HasErrorPrefix(err, "OOM") {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
