package demo

import (
	"encoding/json"
	"fmt"
	"time"
)

// MinLength is the shortest demo in which everything has its time.
const MinLength = 2 * time.Second

// Plan is when a demo began and how long it lasts. Everything else about time
// follows from it, in every process alike.
type Plan struct {
	Start  time.Time     `json:"start"`
	Length time.Duration `json:"length"`
}

// unit is the second of a demo of 20 s; the story's times scale with it.
func (p Plan) unit() time.Duration { return p.Length / 20 }

// at is when a part of the story begins, by its share of the whole.
func (p Plan) at(share float64) time.Time {
	return p.Start.Add(time.Duration(share * float64(p.Length)))
}

// between reports whether now is between two shares of the whole.
func (p Plan) between(now time.Time, from, to float64) bool {
	return !now.Before(p.at(from)) && now.Before(p.at(to))
}

// lease is short, so that a killed worker's steps come back within the demo.
func (p Plan) lease() time.Duration {
	return min(max(p.Length/8, time.Second), 3*time.Second)
}

// When things happen, as shares of the whole.
const (
	partnerDown = 0.10
	largeOrders = 0.23
	partnerBack = 0.34
	workerKill  = 0.44
	workerNew   = 0.58
	importerFix = 0.70
	lastBurst   = 0.74
	shopCloses  = 0.84

	lastReminder = 0.64
)

// chapter is a part of the story and what to say about it.
type chapter struct {
	share float64
	text  string
	at    time.Duration // when it began
}

var chapters = []chapter{
	{share: 0, text: "A web shop hands its background work over: mail, webhooks, imports, pictures. Two worker processes run it."},
	{share: partnerDown, text: "partner.example is down. Webhooks to it fail, and each waits longer before its next attempt."},
	{share: largeOrders, text: "Large orders are runs of several steps that wait for an approval, and hold no worker meanwhile. A signal lets them go on."},
	{share: partnerBack, text: "partner.example is back. What failed gets through at its next attempt; nothing has to be sent again by hand."},
	{share: workerKill, text: "A worker process was killed with kill -9. When its leases expire, the other one runs its steps: the same attempt, again."},
	{share: workerNew, text: "A new worker process has started and takes its share at once."},
	{share: importerFix, text: "The importer was fixed. An operator retries the rows that were discarded for it: they open again, with one more attempt."},
	{share: shopCloses, text: "The shop has closed. The workers finish what is left."},
}

// Encode is the plan for another process.
func (p Plan) Encode() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a time and a number
	}
	return string(b)
}

// DecodePlan reads what Encode wrote.
func DecodePlan(text string) (p Plan, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Plan{}, fmt.Errorf("demo: plan: %w", err)
	}
	if p.Length < MinLength || p.Start.IsZero() {
		return Plan{}, fmt.Errorf("demo: plan of %v from %v", p.Length, p.Start)
	}
	return p, nil
}
