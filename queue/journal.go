package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// ErrRecordDiffers is returned when something else was recorded for the same step
// before. Nothing was written.
var ErrRecordDiffers = errors.New("queue: another result was recorded for this step before")

// JournalField is the name of an entry in a task's journal.
func JournalField(kind byte, id string) string { return string(kind) + ":" + id }

// Begin acknowledges that attempts have started, as [Store.Extend] does, and reads
// the journals of those that are tasks, in one round trip. journals has one element
// for each of held: field → value, nil for what is no task or has none. It is not
// sent again.
func (s *Store) Begin(ctx context.Context, held []Held, lease time.Duration) (journals []map[string]string, gone map[int]error, err error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return nil, nil, err
	}
	journals = make([]map[string]string, len(held))
	for n, indexes := range byPartition(held, len(d.parts)) {
		for len(indexes) > 0 {
			batch := indexes[:min(len(indexes), extendBatch)]
			indexes = indexes[len(batch):]
			lost, err := s.begin(ctx, d.parts[n], held, batch, lease, journals)
			if err != nil {
				return nil, nil, err
			}
			gone = noteGone(gone, held, batch, lost)
		}
	}
	return journals, gone, nil
}

func (s *Store) begin(ctx context.Context, p *partition, held []Held, batch []int, lease time.Duration, journals []map[string]string) (map[string]string, error) {
	call := s.extendCall(p, held, batch, lease, nil)
	pipe := s.client.rdb.Pipeline()
	acknowledged := pipe.EvalSha(ctx, luascripts.Extend.SHA, call.Keys, call.Args...)
	loaded := make([]*redis.MapStringStringCmd, len(batch))
	for n, i := range batch {
		if c := held[i].Claim; held[i].Task {
			loaded[n] = pipe.HGetAll(ctx, p.keys.journal(c.id()))
		}
	}
	_, _ = pipe.Exec(ctx) // Each command carries its own error.
	reply, err := acknowledged.Slice()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = luascripts.Extend.Run(ctx, s.client.rdb, call.Keys, call.Args)
	}
	if err != nil {
		return nil, luascripts.Refusal(err)
	}
	for n, i := range batch {
		if loaded[n] == nil {
			continue
		}
		fields, err := loaded[n].Result()
		if err != nil {
			return nil, err
		}
		journals[i] = entriesOf(fields)
	}
	s.client.clock.observe(luascripts.Now(reply))
	return luascripts.ParseExtend(reply), nil
}

// entriesOf drops what is not an entry of the journal: a single task's signals are
// in the same hash.
func entriesOf(fields map[string]string) map[string]string {
	for name := range fields {
		if len(name) < 2 || name[1] != ':' || !strings.ContainsRune(entryKinds, rune(name[0])) {
			delete(fields, name)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

var entryKinds = string([]byte{wire.EntryRecord, wire.EntryTries, wire.EntryWake, wire.EntryChild})

// Recorded is an entry that a running task writes into its journal.
type Recorded struct {
	Claim        *Claimed
	Field, Value string // of [JournalField]
	First        bool   // the journal may be new
}

// RecordBatch is the most entries that one call of [Store.Record] takes.
const RecordBatch = 400

// Record stores entries of tasks on one partition, each under its attempt's fence.
// Records are written once, other entries replaced. It returns, by index, which were
// not written and why: [cyclone.ErrLeaseLost], [cyclone.ErrCancelled] or
// [ErrRecordDiffers]. It is not sent again, and safe to send again.
func (s *Store) Record(ctx context.Context, partition int, entries []Recorded) (map[int]error, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return nil, err
	}
	p := d.parts[partition]
	queues, order := p.recordQueues(entries)
	var call luascripts.Call
	luascripts.RecordCall(&call, &luascripts.RecordKeys{Ghosts: p.keys.ghosts(), Journals: p.keys.journals()}, queues)
	reply, err := luascripts.Record.Run(ctx, s.client.rdb, call.Keys, call.Args)
	if err != nil {
		return nil, refine(err)
	}
	s.client.clock.observe(luascripts.Now(reply))
	var refused map[int]error
	for i, reason := range luascripts.ParseRecord(reply) {
		if refused == nil {
			refused = make(map[int]error)
		}
		if refused[order[i]] = causeOf(reason); reason == luascripts.Different {
			refused[order[i]] = ErrRecordDiffers
		}
	}
	return refused, nil
}

// recordQueues groups entries by queue. order has their indexes in the new order.
func (p *partition) recordQueues(entries []Recorded) (queues []luascripts.RecordQueue, order []int) {
	order = make([]int, 0, len(entries))
	for done := 0; len(order) < len(entries); done++ {
		name := entries[done].Claim.Queue
		if done > 0 && slices.ContainsFunc(entries[:done], func(e Recorded) bool { return e.Claim.Queue == name }) {
			continue
		}
		items := make([]luascripts.RecordItem, 0, len(entries)-len(order))
		for i := done; i < len(entries); i++ {
			e, c := &entries[i], entries[i].Claim
			if c.Queue == name {
				items = append(items, luascripts.RecordItem{
					Journal: p.keys.journal(c.id()), Member: c.member, ID: c.id(), First: e.First,
					JournalField: luascripts.JournalField{Field: e.Field, Value: e.Value},
				})
				order = append(order, i)
			}
		}
		queues = append(queues, luascripts.RecordQueue{Leased: p.keys.queue(name).leased, Items: items})
	}
	return queues, order
}

// Take asks for the oldest queued signal of a name for a task. It is recorded in the
// entry with the given id in the same instant; past the deadline (ms by Redis'
// clock, 0 for none) the timeout is. It returns the record, "" while there is neither.
// The error is [cyclone.ErrLeaseLost] or [cyclone.ErrCancelled] when the attempt has
// ended. It is not sent again, and safe to send again.
func (s *Store) Take(ctx context.Context, c *Claimed, signal, id string, deadlineMS int64, first bool) (string, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return "", err
	}
	p := d.parts[c.partition]
	var call luascripts.Call
	luascripts.TakeCall(&call, &luascripts.TakeKeys{
		Ghosts: p.keys.ghosts(), Journals: p.keys.journals(), Leased: p.keys.queue(c.Queue).leased,
		Journal: p.keys.journal(c.id()), Signals: p.signals(c),
	}, &luascripts.TakeInput{
		Member: c.member, ID: c.id(), Name: signal, Field: JournalField(wire.EntryRecord, id), DeadlineMS: deadlineMS,
		Timeout: string(record.AppendTimeout(nil)), First: first,
	})
	reply, err := luascripts.Take.Run(ctx, s.client.rdb, call.Keys, call.Args)
	if err != nil {
		return "", refine(err)
	}
	s.client.clock.observe(luascripts.Now(reply))
	switch outcome, taken := luascripts.ParseTake(reply); outcome {
	case luascripts.Recorded:
		return taken, nil
	case luascripts.TakeNothing:
		return "", nil
	default:
		return "", causeOf(outcome)
	}
}

// signals is the key of the signals of the claim's run.
func (p *partition) signals(c *Claimed) string {
	if c.Step.Node > 0 {
		return p.keys.run(c.ID.String())
	}
	return p.keys.journal(c.id())
}
