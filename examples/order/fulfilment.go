package main

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

// Order is what a customer has asked for.
type Order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Cents int    `json:"cents"`
}

// What the nodes hand on to each other.
type (
	// Receipt is of a card that was charged.
	Receipt struct {
		Number string `json:"number"`
	}
	// Reservation is of an item that nobody else gets.
	Reservation struct {
		Shelf string `json:"shelf"`
	}
	// Approval is the payload of the signal that the order waits for.
	Approval struct {
		By string `json:"by"`
	}
	// Parcel is what has to be known for shipping.
	Parcel struct {
		Order       Order       `json:"order"`
		Reservation Reservation `json:"reservation"`
		Approval    Approval    `json:"approval"`
	}
	// Outcome is what the customer is told. Tracking is empty when nothing was shipped.
	Outcome struct {
		Order    Order   `json:"order"`
		Receipt  Receipt `json:"receipt"`
		Tracking string  `json:"tracking"`
	}
)

// What the nodes run.
var (
	Charge = cyclone.DeclareStep[Order, Receipt]("charge_card",
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{50 * time.Millisecond}}))
	Reserve = cyclone.DeclareStep[Order, Reservation]("reserve_item")
	Ship    = cyclone.DeclareStep[Parcel, string]("ship_parcel")
	Notify  = cyclone.DeclareAction[Outcome]("notify_customer")
)

// fulfil starts the run of an order:
//
//	charge ──┐
//	         ├── approval ── ship ── notify
//	reserve ─┘
//
// Without an approval in time nothing is shipped, and the customer is told all the
// same. A card that cannot be charged fails the run, which then waits for an operator.
func fulfil(ctx context.Context, client workflow.Enqueuer, order Order, patience time.Duration) (*cyclone.Run, error) {
	b := workflow.New("order", cyclone.WithUnique(cyclone.Unique{Key: order.ID}))

	receipt := workflow.Run(b, "charge", Charge, workflow.Value(order))
	reservation := workflow.Run(b, "reserve", Reserve, workflow.Value(order))
	approval := workflow.WaitSignal[Approval](b, "approval", patience, workflow.After(receipt, reservation))

	parcel := Parcel{Order: order}
	tracking := workflow.Run(b, "ship", Ship, workflow.Join(&parcel,
		workflow.Bind(&parcel.Reservation, reservation),
		workflow.Bind(&parcel.Approval, approval),
	), workflow.OnDepFailure(workflow.CancelBranch))

	outcome := Outcome{Order: order}
	workflow.Do(b, "notify", Notify, workflow.Join(&outcome,
		workflow.Bind(&outcome.Receipt, receipt),
		workflow.Bind(&outcome.Tracking, tracking),
	), workflow.OnDepFailure(workflow.RunAnyway))

	return b.Enqueue(ctx, client)
}
