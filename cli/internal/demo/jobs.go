package demo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/workflow"
)

// The inputs of the shop's jobs.
type (
	email struct {
		To      string `json:"to"`
		Subject string `json:"subject"`
	}
	webhook struct {
		URL   string `json:"url"`
		Order int    `json:"order"`
	}
	contact struct {
		Customer int `json:"customer"`
	}
	row struct {
		File  string  `json:"file"`
		Line  int     `json:"line"`
		Date  string  `json:"date"`
		Price float64 `json:"price"`
	}
	picture struct {
		Product int `json:"product"`
		Pixels  int `json:"pixels"`
	}
)

// The kinds, in the order in which they are shown.
var kinds = []string{"send_email", "deliver_webhook", "sync_contact", "import_row", "resize_image", queue.KindWait}

// kindName is how a kind is shown.
func kindName(kind string) string {
	if kind == queue.KindWait {
		return approval
	}
	return kind
}

// jobs are the shop's definitions, with handlers that meet the world of a plan.
type jobs struct {
	plan    Plan
	email   *cyclone.Action[email]
	webhook *cyclone.Action[webhook]
	contact *cyclone.Action[contact]
	row     *cyclone.Action[row]
	picture *cyclone.Action[picture]
	crm     limiter
}

func newJobs(plan Plan) *jobs {
	unit := plan.unit()
	j := &jobs{plan: plan, crm: limiter{every: unit / 3}}
	j.email = cyclone.NewAction("send_email", j.sendEmail)
	j.webhook = cyclone.NewAction("deliver_webhook", j.deliverWebhook, cyclone.Retry(cyclone.RetryPolicy{
		MaxAttempts: 8, Delays: []time.Duration{unit / 2, unit, 2 * unit, 3 * unit},
	}))
	j.contact = cyclone.NewAction("sync_contact", j.syncContact)
	j.row = cyclone.NewAction("import_row", j.importRow)
	j.picture = cyclone.NewAction("resize_image", j.resizeImage, cyclone.WithPriority(cyclone.Low))
	return j
}

func (j *jobs) all() []cyclone.Definition {
	return []cyclone.Definition{j.email, j.webhook, j.contact, j.row, j.picture}
}

// sendEmail meets a mail server that turns some letters away at first and says
// when to come back.
func (j *jobs) sendEmail(ctx cyclone.Context, in email) error {
	if err := busy(ctx, 20, 90); err != nil {
		return err
	}
	if ctx.Attempt() == 1 && share(in.To) < 0.15 {
		return cyclone.RetryAfter(errors.New("451 4.7.1 greylisted, come back later"), 2*j.plan.unit())
	}
	return nil
}

// deliverWebhook meets a partner that is down for a while.
func (j *jobs) deliverWebhook(ctx cyclone.Context, in webhook) error {
	if err := busy(ctx, 30, 150); err != nil {
		return err
	}
	if in.URL == partnerURL && j.plan.between(time.Now(), partnerDown, partnerBack) {
		return errors.New("503 Service Unavailable from partner.example")
	}
	return nil
}

// syncContact meets an API that allows so many calls and no more: a step that
// comes too early is put back, without using up an attempt.
func (j *jobs) syncContact(ctx cyclone.Context, _ contact) error {
	if wait := j.crm.take(time.Now()); wait > 0 {
		return cyclone.Snooze(wait)
	}
	return busy(ctx, 10, 40)
}

// importRow meets rows that no retry can help: one that the importer cannot read
// yet, and one that is wrong.
func (j *jobs) importRow(ctx cyclone.Context, in row) error {
	if err := busy(ctx, 5, 30); err != nil {
		return err
	}
	if in.Price < 0 {
		return cyclone.Permanent(fmt.Errorf("%s line %d: price %.2f is negative", in.File, in.Line, in.Price))
	}
	if _, err := time.Parse(time.DateOnly, in.Date); err != nil && time.Now().Before(j.plan.at(importerFix)) {
		return cyclone.Permanent(fmt.Errorf("%s line %d: date %q is not YYYY-MM-DD", in.File, in.Line, in.Date))
	}
	return nil
}

// resizeImage takes its time, so that there is always something running.
func (j *jobs) resizeImage(ctx cyclone.Context, in picture) error {
	ms := int(j.plan.unit().Milliseconds())
	return busy(ctx, ms/2+in.Pixels%ms, ms)
}

// approval is the signal that large orders wait for, and the node that does.
const approval = "approval"

// order is a run of many steps: it waits for an approval in the middle.
func (j *jobs) order(n int, customer string) *workflow.Builder {
	mail, patience := cyclone.WithQueue("mail"), 20*j.plan.unit()
	b := workflow.New("order")
	received := workflow.Do(b, "received", j.email, workflow.Value(email{To: customer, Subject: fmt.Sprintf("Your large order %d", n)}), mail)
	approved := workflow.Wait(b, approval, patience, workflow.After(received), mail)
	workflow.Do(b, "warehouse", j.webhook, workflow.Value(webhook{URL: warehouseURL, Order: n}), cyclone.WithQueue("webhooks"), workflow.After(approved))
	workflow.Do(b, "shipped", j.email, workflow.Value(email{To: customer, Subject: fmt.Sprintf("Order %d is on its way", n)}), mail, workflow.After(approved))
	return b
}

// busy works between least and least+spread milliseconds.
func busy(ctx context.Context, least, spread int) error {
	timer := time.NewTimer(time.Duration(least+rand.N(spread)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// share maps a text to 0…1, the same in every process and attempt.
func share(text string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return float64(h.Sum32()) / (1 << 32)
}

// limiter allows one call in a while.
type limiter struct {
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

// take returns 0 when the call is allowed, or how long to wait before asking
// again.
func (l *limiter) take(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := l.next.Sub(now); wait > 0 {
		return wait + rand.N(4*l.every)
	}
	l.next = now.Add(l.every)
	return 0
}
