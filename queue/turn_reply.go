package queue

import (
	"context"
	"strings"
	"time"
	"unsafe"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// read makes the reply, which holds nothing of the turn's memory.
func (t *turn) read(ctx context.Context, reply []any, sent time.Time) *TurnReply {
	raw := luascripts.ParseTurn(reply)
	out := &TurnReply{
		LeaseUntil: sent.Add(t.req.Lease), Rank: raw.Rank, More: raw.More, Sweep: raw.Sweep,
		Next: time.Duration(raw.NextMS) * time.Millisecond, Now: timeOf(raw.NowMS),
	}
	if len(raw.Lost) > 0 {
		out.Lost = make(map[int]error, len(raw.Lost))
		for i := range t.req.Settle {
			if reason, ok := raw.Lost[t.req.Settle[i].Claim.member]; ok {
				out.Lost[i] = causeOf(reason)
			}
		}
	}
	t.readClaims(&raw, out)
	t.readHanded(&raw, out, sent)
	if t.req.Offer {
		out.Offer = Offer{token: t.input.Token, sent: sent, nowMS: raw.NowMS}
	}
	if t.p.client.hasListeners() {
		t.tell(out, t.p.lostEvents(ctx, out.Now, raw.Reaped))
	}
	return out
}

func (t *turn) readClaims(raw *luascripts.TurnReply, out *TurnReply) {
	n, length := 0, 0
	for _, claim := range raw.Claims {
		n += len(claim.IDs)
		for _, id := range claim.IDs {
			length += len(id) + len(":") + len(t.input.Token)
		}
	}
	out.Claimed = make([]Claimed, 0, n)
	envelopes := make([]Envelope, n)
	var members strings.Builder // all in one: they live about as long
	members.Grow(length)
	for _, claim := range raw.Claims {
		for i, id := range claim.IDs {
			if claim.Bodies[i] == "" {
				continue // it was deleted before this answer was asked for again
			}
			start := members.Len()
			members.WriteString(id)
			members.WriteByte(':')
			members.WriteString(t.input.Token)
			step, _ := parseStepID(id)
			out.Claimed = append(out.Claimed, Claimed{
				ID: step.Run, Step: step, Queue: t.input.Queues[claim.Queue].Name, Priority: cyclone.Priority(claim.Lane),
				Counters: countersOf(raw.Counters[id]), partition: t.p.number, member: members.String()[start:], digits: len(id),
			})
			k := len(out.Claimed) - 1
			out.Claimed[k].decode(claim.Bodies[i], &envelopes[k])
		}
	}
}

// decode reads the claim's body into env.
func (c *Claimed) decode(body string, env *Envelope) {
	if c.Err = env.Decode(bytesOf(body)); c.Err == nil {
		c.Envelope = env
	}
}

// bytesOf returns the bytes of a string that nobody else holds, without copying a
// body that may be large.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func causeOf(reason string) error {
	if reason == luascripts.ReasonCancelled {
		return cyclone.ErrCancelled
	}
	return cyclone.ErrLeaseLost
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

// tell passes the turn's events to the process's own listeners.
func (t *turn) tell(out *TurnReply, lost []cyclone.StepEvent) {
	for i := range t.req.Settle {
		if _, lost := out.Lost[i]; !lost {
			t.p.client.emit(t.req.Settle[i].event(out.Now))
		}
	}
	for i := range lost {
		t.p.client.emit(lost[i])
	}
	for i := range out.Claimed {
		t.p.client.emit(out.Claimed[i].event(out.Now, workerOf(t.input.Token)))
	}
	if out.Handed != nil {
		t.p.client.emit(out.Handed.event(out.Now, workerOf(t.input.Token)))
	}
}

// lostEvents are those of leases that were taken back. What a lease does not tell of its
// step is looked up.
func (p *partition) lostEvents(ctx context.Context, now time.Time, lines string) []cyclone.StepEvent {
	if lines == "" {
		return nil
	}
	m := message{at: now}
	var events []cyclone.StepEvent
	var unknown []unknownEvent
	for line := range strings.SplitSeq(lines, "\n") {
		if l, ok := parseEventLine(line); ok {
			if e, ok := m.event(&l, nil); ok {
				unknown = append(unknown, unknownEvent{len(events), l.id})
				events = append(events, e)
			}
		}
	}
	p.complete(ctx, events, unknown)
	return events
}

// event is that of the claim.
func (c *Claimed) event(now time.Time, worker string) cyclone.StepEvent {
	kind, node := c.names()
	attempt := 1
	if c.Envelope != nil {
		attempt = c.Envelope.Failures + 1
	}
	return cyclone.StepEvent{
		Type: cyclone.EventClaimed, RunID: c.ID, Node: node, Kind: kind, Queue: c.Queue,
		State: cyclone.StepRunning, Attempt: attempt, At: now, Worker: worker,
	}
}

// workerOf returns the worker that a token names.
func workerOf(token string) string {
	worker, _, _ := strings.Cut(token, ".")
	return worker
}
