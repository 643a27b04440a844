package queue

import (
	"context"
	"strconv"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// Pause is how a suspended attempt of a task comes back.
type Pause struct {
	In      wire.SuspendedIn
	DueMS   int64    // by Redis' clock, 0 for never
	Signals []string // each brings it back before that
	Entries []wire.Entry
	First   bool // the journal may be new
}

// suspendBatch is the most steps, names and entries that one call of Suspend takes.
const suspendBatch = 400

// Suspend takes a task off its slot until the pause is over. f describes the try of a
// recorded step that has failed, and is kept in the history; nil for none.
func Suspend(c *Claimed, attempt int, pause *Pause, f *Failure) Settlement {
	rest := &settled{pause: pause}
	env := c.Envelope
	if f != nil {
		rest.code, rest.text = f.Code, f.Error
		env.AddRecord(Record{At: f.At.UnixMilli(), Type: RecordFailed, Attempt: f.Attempt, Error: f.Error, Code: f.Code, Worker: f.Worker})
	}
	if f != nil || env.ExpiresMs != 0 {
		env.ExpiresMs = 0 // it has begun
		env.Set &^= wire.FieldExpiry
		rest.body = env.Append(nil)
	}
	return Settlement{Claim: c, Attempt: attempt, rest: rest}
}

// Suspends reports whether the settlement has to go through [Store.Suspend].
func (s *Settlement) Suspends() bool { return s.rest.pause != nil }

// Suspend takes tasks of one partition off their slots, see [Suspend]. One whose
// signal is there already is ready again at once. The result tells, by index, which did
// not count, and why. It is sent again until it is answered or ctx is done; a
// settlement counts once whatever happens to replies.
func (s *Store) Suspend(ctx context.Context, partition int, settle []Settlement) (map[int]error, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return nil, err
	}
	b := &suspension{s: s, p: d.parts[partition], settle: settle}
	for from := 0; from < len(settle); {
		to := b.end(from)
		if err := b.send(ctx, from, to); err != nil {
			return nil, err
		}
		from = to
	}
	return b.refused, nil
}

// suspension is one call of Suspend.
type suspension struct {
	s       *Store
	p       *partition
	settle  []Settlement
	refused map[int]error

	input  luascripts.SuspendInput
	detail detail
}

// end is where the call ends that begins with a settlement.
func (b *suspension) end(from int) int {
	n := 0
	for to := from; to < len(b.settle); to++ {
		pause := b.settle[to].rest.pause
		if n += 1 + len(pause.Signals) + len(pause.Entries); n > suspendBatch && to > from {
			return to
		}
	}
	return len(b.settle)
}

func (b *suspension) send(ctx context.Context, from, to int) error {
	var call luascripts.Call
	reply, err := b.p.numbered(ctx, luascripts.Suspend, &call, 0, func() { b.build(&call, from, to) })
	if err == nil {
		b.read(reply, from, to)
	}
	return err
}

func (b *suspension) build(call *luascripts.Call, from, to int) {
	p, in := b.p, &b.input
	*in = luascripts.SuspendInput{Worker: b.s.worker, Channels: p.channels(), Partition: p.number}
	b.detail.reset()
	for i := from; i < to; i++ {
		st := &b.settle[i]
		kind, node := st.Claim.names()
		b.detail.add(kind, node, st.Attempt, st.rest.code, st.rest.text)
		in.Items = append(in.Items, b.item(st))
	}
	in.Detail = b.detail.bytes()
	k := p.keys
	luascripts.SuspendCall(call, &luascripts.SuspendKeys{
		Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Stats: k.stats(), Subs: k.subs(), Paused: k.paused(), Journals: k.journals(),
	}, in)
}

func (b *suspension) item(st *Settlement) luascripts.SuspendItem {
	c, pause := st.Claim, st.rest.pause
	it := luascripts.SuspendItem{
		Queue: queueAmong(&b.input.Queues, b.p, c.Queue), Lane: int(c.Priority), Signals: b.p.signals(c), Journal: b.p.keys.journal(c.id()),
		Member: c.member, ID: c.id(), In: luascripts.SuspendIn(pause.In), Body: string(st.rest.body), First: pause.First, Names: pause.Signals,
	}
	if pause.DueMS > 0 {
		it.Due = strconv.FormatInt(pause.DueMS, 10)
	}
	for _, e := range pause.Entries {
		it.Fields = append(it.Fields, luascripts.JournalField{Field: JournalField(e.Kind, e.ID), Value: string(e.Value)})
	}
	return it
}

func (b *suspension) read(reply []any, from, to int) {
	now := luascripts.Now(reply)
	outcomes := luascripts.ParseSuspend(reply)
	refused := refusals(outcomes)
	for i := from; i < to; i++ {
		if cause := refused[i-from]; cause != nil {
			if b.refused == nil {
				b.refused = make(map[int]error)
			}
			b.refused[i] = cause
			continue
		}
		if len(b.p.client.onEvent) > 0 && i-from < len(outcomes) {
			b.p.client.emit(b.settle[i].suspended(outcomes[i-from] == luascripts.Resumed, now))
		}
	}
}

// suspended is what the suspension looks like from outside.
func (s *Settlement) suspended(resumed bool, nowMS int64) cyclone.StepEvent {
	e := s.event(timeOf(nowMS))
	switch s.rest.pause.In {
	case wire.SuspendedRetrying:
		e.Type, e.State = cyclone.EventFailed, cyclone.StepRetrying
	case wire.SuspendedSnoozed:
		e.Type, e.State = cyclone.EventSnoozed, cyclone.StepSnoozed
	default:
		e.Type, e.State = cyclone.EventSuspended, cyclone.StepWaiting
	}
	if s.rest.pause.DueMS > 0 {
		e.DueAt = timeOf(s.rest.pause.DueMS)
	}
	if resumed {
		e.State = cyclone.StepReady
	}
	return e
}

// refusals returns by index what was not done, and why.
func refusals(outcomes []string) map[int]error {
	var refused map[int]error
	for i, outcome := range outcomes {
		var cause error
		switch outcome {
		case luascripts.Different:
			cause = ErrRecordDiffers
		case luascripts.ReasonLost, luascripts.ReasonCancelled:
			cause = causeOf(outcome)
		default:
			continue
		}
		if refused == nil {
			refused = make(map[int]error)
		}
		refused[i] = cause
	}
	return refused
}
