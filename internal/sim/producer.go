package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// producer enqueues. What it is not sure of and has made under a request key it
// makes again.
type producer struct {
	w      *world
	name   string
	client *queue.Client
	n      int
	unsure []order
}

// order is one request, to be made again as it is.
type order struct {
	job     job
	request cyclone.Request
	keyed   bool // under a request key
}

func (w *world) produce(name string) {
	p := &producer{w: w, name: name, client: w.newClient(w.net.newHost(name))}
	mean := 600 * time.Millisecond
	if p.oneByOne() {
		mean /= 2
	}
	w.actor(name, mean, p.act)
}

// oneByOne tells that the producer makes one request at a time: with several,
// partitions would be served at one instant, and it would be chance who of them gets
// a connection that is broken.
func (p *producer) oneByOne() bool { return p.w.cfg.Driver == StoreDriver && p.w.cfg.Partitions > 1 }

func (p *producer) act(rng *rand.Rand) {
	orders := p.unsure
	p.unsure = nil
	if len(orders) == 0 {
		for range 1 + rng.IntN(4) {
			orders = append(orders, p.order(rng))
		}
	}
	if p.oneByOne() {
		orders, p.unsure = orders[:1], orders[1:]
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if rng.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(1+rng.Int64N(int64(2*time.Second))))
	}
	defer cancel()
	requests := make([]cyclone.Request, len(orders))
	for i, o := range orders {
		requests[i] = o.request
	}
	receipts, err := p.client.Enqueue(ctx, requests...)
	for i, o := range orders {
		one := err
		if i < len(receipts) {
			one = receipts[i].Err
		}
		p.answered(o, receipts, i, one)
	}
}

func (p *producer) answered(o order, receipts []cyclone.Receipt, i int, err error) {
	var held *cyclone.DuplicateError
	switch {
	case err == nil:
		p.w.ledger.ack(o.job.Key, receipts[i].ID.String())
	case errors.As(err, &held):
		p.w.ledger.done()
	case errors.Is(err, cyclone.ErrUnknownOutcome) && o.keyed:
		p.unsure = append(p.unsure, o)
	}
}

// order makes up a request.
func (p *producer) order(rng *rand.Rand) order {
	p.n++
	j := job{Key: fmt.Sprintf("%s-%d", p.name, p.n), Plan: plans[rng.IntN(len(plans))], N: 1 + rng.IntN(4)}
	j.Work = time.Duration(1 + rng.Int64N(int64(300*time.Millisecond)))
	options := []cyclone.EnqueueOption{
		cyclone.WithQueue(queueNames[rng.IntN(len(queueNames))]), cyclone.WithPriority(cyclone.Priority(rng.IntN(3))),
	}
	switch j.Plan {
	case "slow", "deaf":
		j.Work = time.Duration(rng.Int64N(int64(2 * lease)))
	case "timeout":
		j.Work = time.Second + time.Duration(rng.Int64N(int64(time.Second)))
		options = append(options, cyclone.WithTimeout(500*time.Millisecond))
	}
	if rng.IntN(3) == 0 {
		j.Delay = time.Duration(1+rng.IntN(8000)) * time.Millisecond
		options = append(options, cyclone.WithDelay(j.Delay))
	}
	if rng.IntN(8) == 0 {
		options = append(options, cyclone.WithExpiry(j.Delay+time.Duration(1+rng.IntN(5000))*time.Millisecond))
	}
	if rng.IntN(6) == 0 {
		options = append(options, cyclone.WithMaxAttempts(1+rng.IntN(3)))
	}
	o := order{job: j}
	switch rng.IntN(5) {
	case 0:
		options = append(options, cyclone.WithRequestKey("request "+j.Key))
		o.keyed = true
	case 1:
		u := uniqueness(rng)
		if u.OnConflict == cyclone.Replace {
			j.Delay = -1 // it may get the place of another one, and its time
		}
		options = append(options, cyclone.WithUnique(u))
	}
	o.request = p.request(rng, j.String(), options)
	return o
}

// uniqueness is one of few keys, under any rule.
func uniqueness(rng *rand.Rand) cyclone.Unique {
	u := cyclone.Unique{Key: "key" + strconv.Itoa(rng.IntN(4)), OnConflict: cyclone.Conflict(rng.IntN(3))}
	if u.OnConflict != cyclone.Replace && rng.IntN(2) == 0 {
		u.Scope = cyclone.For(time.Duration(1+rng.IntN(15)) * time.Second)
	}
	return u
}

func (p *producer) request(rng *rand.Rand, in string, options []cyclone.EnqueueOption) cyclone.Request {
	k := p.w.kinds
	switch rng.IntN(8) {
	case 0, 1:
		return k.step.With(in, options...)
	case 2, 3:
		return k.task.With(in, options...)
	case 4:
		return k.alien.With(in, options...)
	}
	return k.action.With(in, options...)
}
