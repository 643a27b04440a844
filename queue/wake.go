package queue

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Signals are what Redis tells a worker between its turns. The functions must not
// block.
type Signals struct {
	// Wake: a partition has work for a worker that stood in line. -1 means that
	// the subscription is new, so that one may have been missed anywhere.
	Wake func(partition int)
	// Handed: a step has come by an offer of one of the worker's turns.
	Handed func(*Handed)
	// Cancel: a step was cancelled or deleted while it was ready or running.
	Cancel func(step StepID)
	// Trouble: the subscription failed and is tried again.
	Trouble func(error)
}

// quiet is how long a subscription may be silent before it is probed: a
// connection that is half open looks like one without news.
const quiet = 20 * time.Second

// Listen passes signals on until ctx is done. It subscribes again by itself.
func (s *Store) Listen(ctx context.Context, sig Signals) error {
	d, err := s.client.join(ctx)
	if err != nil {
		return err
	}
	channels := []string{d.keys.wake(s.worker)}
	for _, part := range d.parts {
		channels = append(channels, part.keys.cancel())
	}
	subscribe := func() *redis.PubSub { return s.client.rdb.Subscribe(ctx, channels...) }
	return receive(ctx, subscribe, sig.Trouble, func(msg any) {
		switch m := msg.(type) {
		case *redis.Subscription:
			sig.Wake(-1)
		case *redis.Message:
			if m.Channel == channels[0] {
				if p, err := strconv.Atoi(m.Payload); err == nil {
					sig.Wake(p)
				} else if h := d.readHanded(m.Payload); h != nil {
					sig.Handed(h)
				} // else it was asked whether anybody hears
				return
			}
			for id := range strings.FieldsSeq(m.Payload) {
				if step, ok := parseStepID(id); ok {
					sig.Cancel(step)
				}
			}
		}
	})
}

// receive reads a subscription until ctx is done. A connection that fails, or
// stays silent even when probed, is replaced after a pause.
func receive(ctx context.Context, subscribe func() *redis.PubSub, trouble func(error), handle func(any)) error {
	for pause := resendFirst; ; pause = min(2*pause, resendMost) {
		heard, err := receiveOnce(ctx, subscribe(), handle)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		trouble(err)
		if heard {
			pause = resendFirst
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// receiveOnce reads one connection until it fails, and tells whether it ever
// brought anything.
func receiveOnce(ctx context.Context, sub *redis.PubSub, handle func(any)) (heard bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer func() {
		stop()
		_ = sub.Close()
	}()
	for probed := false; ; {
		msg, err := sub.ReceiveTimeout(ctx, quiet)
		switch {
		case err == nil:
			heard, probed = true, false
			handle(msg)
		case isTimeout(err) && !probed && ctx.Err() == nil:
			probed = true
			if err := sub.Ping(ctx); err != nil {
				return heard, err
			}
		default:
			return heard, err
		}
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
