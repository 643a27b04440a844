package queue

import (
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// Offer is what a turn has offered: while its worker stands in line, one step may be
// handed over to it without a turn. The zero Offer offers nothing.
type Offer struct {
	token string
	sent  time.Time // when the turn was sent, before its time by Redis' clock:
	nowMS int64
}

// Handed is a step that came to this worker by its offer. It is leased, and the next
// turn that does not say that it has arrived brings it again.
type Handed struct {
	Partition int
	Claimed   Claimed

	token    string
	expiryMS int64 // of its lease, by Redis' clock
}

// Under returns until when the lease lasts at the least. It is false when the step
// was not handed over under this offer.
func (h *Handed) Under(o Offer) (time.Time, bool) {
	if o.token == "" || o.token != h.token {
		return time.Time{}, false
	}
	return o.sent.Add(time.Duration(h.expiryMS-o.nowMS) * time.Millisecond), true
}

// At returns Redis' time when the step was handed over with a lease of this length.
func (h *Handed) At(lease time.Duration) time.Time {
	return timeOf(h.expiryMS - lease.Milliseconds())
}

// readHanded reads `partition lane id token expiry queue`, a line break and the body.
func (d *deployment) readHanded(text string) *Handed {
	head, body, ok := strings.Cut(text, "\n")
	words := strings.SplitN(head, " ", 6)
	if !ok || len(words) < 6 {
		return nil
	}
	part, err := strconv.Atoi(words[0])
	lane, err2 := strconv.Atoi(words[1])
	expiry, err3 := strconv.ParseInt(words[4], 10, 64)
	if err != nil || err2 != nil || err3 != nil || part < 0 || part >= len(d.parts) {
		return nil
	}
	h := &Handed{Partition: part, token: words[3], expiryMS: expiry}
	h.Claimed = d.parts[part].handed(words[5], lane-1, words[2], words[3], body)
	return h
}

// handed is the claim of a step that was handed over. It is new: nothing has been
// counted for it.
func (p *partition) handed(queue string, lane int, id, token, body string) Claimed {
	step, _ := parseStepID(id)
	c := Claimed{
		ID: step.Run, Step: step, Queue: queue, Priority: cyclone.Priority(lane), partition: p.number,
		Counters: countersOf(""), member: id + ":" + token, digits: len(id),
	}
	c.decode(body, new(Envelope))
	return c
}

// Arrived is called when a step that was handed over is taken up, so that the
// process's own listeners hear of the claim.
func (s *Store) Arrived(h *Handed, now time.Time) {
	if len(s.client.onEvent) > 0 {
		s.client.emit(h.Claimed.event(now, workerOf(h.token)))
	}
}

// readHanded reads what the turn brings of an earlier offer.
func (t *turn) readHanded(raw *luascripts.TurnReply, out *TurnReply, sent time.Time) {
	h := raw.Handed
	if h == nil || h.Body == "" {
		return
	}
	c := t.p.handed(t.input.Queues[h.Queue].Name, h.Lane, h.ID, h.Token, h.Body)
	out.Handed, out.HandedUntil = &c, sent.Add(time.Duration(h.ExpiryMS-raw.NowMS)*time.Millisecond)
}
