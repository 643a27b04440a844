package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// Whom webhooks go to.
const (
	partnerURL   = "https://partner.example/orders"
	warehouseURL = "https://warehouse.example/parcels"
)

// shop enqueues the work of a web shop until it closes.
type shop struct {
	plan   Plan
	jobs   *jobs
	client *queue.Client
	dice   *rand.Rand
	orders int
	rows   int
	open   []pending
}

// pending is a large order that is not approved yet.
type pending struct {
	run cyclone.RunID
	at  time.Time // when it will be
}

// ticks is how often the shop enqueues per unit of time.
const ticks = 5

func (s *shop) run(ctx context.Context) error {
	ticker := time.NewTicker(s.plan.unit() / ticks)
	defer ticker.Stop()
	closing := time.NewTimer(time.Until(s.plan.at(shopCloses)))
	defer closing.Stop()
	for n := 0; ; n++ {
		_, err := cyclone.EnqueueMany(ctx, s.client, s.tick(n)...)
		if err == nil {
			err = s.largeOrders(ctx, n)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-closing.C:
			return nil
		case <-ticker.C:
		}
	}
}

// largeOrders takes one now and then, and approves those that have waited.
func (s *shop) largeOrders(ctx context.Context, n int) error {
	now := time.Now()
	if n%(2*ticks) == 2 && s.plan.between(now, largeOrders, lastReminder) {
		s.orders++
		run, err := s.jobs.order(s.orders, fmt.Sprintf("company%d@mail.example", 100+s.dice.IntN(900))).Enqueue(ctx, s.client)
		if err != nil {
			return err
		}
		s.open = append(s.open, pending{run.ID(), now.Add(approvedAfter * s.plan.unit())})
	}
	for len(s.open) > 0 && !now.Before(s.open[0].at) {
		if err := s.client.Signal(ctx, s.open[0].run, approval, nil); err != nil {
			return err
		}
		s.open = s.open[1:]
	}
	return nil
}

// approvedAfter is how long a large order waits, in units.
const approvedAfter = 3

// tick returns what happens in a fifth of a unit: some 14 jobs a unit.
func (s *shop) tick(n int) []cyclone.Request {
	var out []cyclone.Request
	if n%2 == 0 || s.dice.Float64() < 0.3 {
		s.orders++
		customer := fmt.Sprintf("customer%d@mail.example", 1000+s.dice.IntN(9000))
		out = append(out, s.jobs.email.With(email{To: customer, Subject: fmt.Sprintf("Your order %d", s.orders)}, cyclone.WithQueue("mail")))
		url := "https://shop.example/hooks"
		if s.orders%2 == 0 {
			url = partnerURL
		}
		out = append(out, s.jobs.webhook.With(webhook{URL: url, Order: s.orders}, cyclone.WithQueue("webhooks")))
	}
	if n%4 == 1 && time.Now().Before(s.plan.at(lastReminder)) { // for later
		customer := fmt.Sprintf("customer%d@mail.example", 1000+s.dice.IntN(9000))
		out = append(out, s.jobs.email.With(email{To: customer, Subject: "Your basket waits for you"},
			cyclone.WithQueue("mail"), cyclone.WithDelay(3*s.plan.unit())))
	}
	if n%2 == 1 {
		out = append(out, s.importRow())
	}
	if n%2 == 0 {
		out = append(out, s.jobs.picture.With(picture{Product: s.orders, Pixels: s.dice.IntN(1 << 20)}, cyclone.WithQueue("media")))
	}
	if n%(5*ticks) == ticks && time.Now().Before(s.plan.at(lastBurst)) { // a newsletter sign-up page, a burst of contacts
		for range 12 {
			out = append(out, s.jobs.contact.With(contact{Customer: 1000 + s.dice.IntN(9000)}, cyclone.WithQueue("crm")))
		}
	}
	return out
}

// importRow is a row of a file in which one in six is bad.
func (s *shop) importRow() cyclone.Request {
	s.rows++
	in := row{File: "prices.csv", Line: s.rows, Date: "2026-02-03", Price: float64(s.dice.IntN(10000)) / 100}
	switch {
	case s.rows%13 == 5:
		in.Price = -in.Price - 1
	case s.rows%6 == 3:
		in.Date = "03.02.2026"
	}
	return s.jobs.row.With(in, cyclone.WithQueue("imports"))
}
