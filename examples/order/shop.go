package main

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/worker"
)

// shop has the handlers and what they need.
type shop struct{ bankIsAway atomic.Bool }

func (s *shop) charge(ctx cyclone.Context, in Order) (Receipt, error) {
	if s.bankIsAway.Load() {
		fmt.Printf("%s: attempt %d: the bank is away\n", in.ID, ctx.Attempt())
		return Receipt{}, errors.New("bank is away")
	}
	fmt.Printf("%s: charged %d.%02d\n", in.ID, in.Cents/100, in.Cents%100)
	return Receipt{Number: "r-" + in.ID}, nil
}

func (s *shop) reserve(_ cyclone.Context, in Order) (Reservation, error) {
	fmt.Printf("%s: reserved the %s\n", in.ID, in.Item)
	return Reservation{Shelf: "7b"}, nil
}

func (s *shop) ship(_ cyclone.Context, in Parcel) (string, error) {
	fmt.Printf("%s: shipped from shelf %s, approved by %s\n", in.Order.ID, in.Reservation.Shelf, in.Approval.By)
	return "t-" + in.Order.ID, nil
}

func (s *shop) notify(_ cyclone.Context, in Outcome) error {
	if in.Tracking == "" {
		fmt.Printf("%s: dear customer, we could not approve it; %s will be refunded\n", in.Order.ID, in.Receipt.Number)
		return nil
	}
	fmt.Printf("%s: dear customer, follow your parcel as %s\n", in.Order.ID, in.Tracking)
	return nil
}

// register gives the definitions their handlers.
func (s *shop) register(w *worker.Worker) {
	w.Register(Charge.Handle(s.charge), Reserve.Handle(s.reserve), Ship.Handle(s.ship), Notify.Handle(s.notify))
}
