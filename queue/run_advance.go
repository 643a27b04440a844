package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// The bounds of one call of Advance.
const (
	advanceItems = 100
	advanceIDs   = 400
)

// AdvanceReply is what became of the settlements of [Store.Advance].
type AdvanceReply struct {
	// Lost tells, by index, which settlements did not count, and why:
	// [cyclone.ErrLeaseLost] or [cyclone.ErrCancelled].
	Lost map[int]error
	// Refused tells, by index, which transactions cannot be applied. Nothing of such
	// a settlement was written, and its step is still held.
	Refused map[int]*TxError
	// Sweep tells that work on runs of many steps is due.
	Sweep bool
	// Now is Redis' time.
	Now time.Time
}

// TxError tells why a completion transaction cannot be applied. Another try of the
// same transaction may go well only when what it writes to has changed.
type TxError struct {
	// Op is the index of the operation: those that write keys come first, then
	// follow-ups, then runs of many steps, then signals.
	Op int
	// Key is what it writes to, Reason why it cannot.
	Key, Reason string
}

// Error names the operation and the reason.
func (e *TxError) Error() string {
	text := txReasons[e.Reason]
	if text == "" {
		text = e.Reason
	}
	return fmt.Sprintf("cyclone: completion transaction: operation %d on %.120q: %s", e.Op+1, e.Key, text)
}

// txReasons says what the script means.
var txReasons = map[string]string{
	luascripts.TxWrongType:   "the key holds another type",
	luascripts.TxNotInteger:  "the key holds no integer",
	luascripts.TxOverflow:    "the sum has more than 64 bits",
	luascripts.TxTooLarge:    "a value is too large",
	luascripts.TxArguments:   "wrong number of arguments",
	luascripts.TxUnbuilt:     "what was stored of the run was given up before the step completed",
	luascripts.SignalUnknown: "there is no such run",
	luascripts.SignalEnded:   "the run has ended",
	luascripts.SignalFull:    "the run has too many signals queued",
}

// Advances reports whether the settlement has to go through [Store.Advance]: it
// ends a step whose end changes more than itself.
func (s *Settlement) Advances() bool {
	switch s.op {
	case luascripts.OpComplete, luascripts.OpKeep, luascripts.OpDiscard:
		c := s.Claim
		return c.Step.Node > 0 || s.rest.journal || !s.rest.tx.Empty() || c.Envelope != nil && c.Envelope.Parent != nil
	}
	return false
}

// WithJournal returns the settlement of a step that has a journal.
func (s Settlement) WithJournal() Settlement {
	rest := *s.rest
	rest.journal = true
	s.rest = &rest
	return s
}

// WithTx returns a completion with its transaction.
func (s Settlement) WithTx(tx *wire.Content) Settlement {
	if tx.Empty() {
		return s
	}
	rest := *s.rest
	rest.tx = tx
	s.rest = &rest
	return s
}

// Advance ends steps of one partition whose end changes more than themselves:
// nodes of runs of many steps, which release those that depend on them and may end
// their run; tasks, whose journals go; children, whose parents are told; and
// completions with a transaction, which is applied with the completion or not at
// all. It is sent again until it is answered or ctx is done; a settlement counts
// once whatever happens to replies.
func (s *Store) Advance(ctx context.Context, partition int, settle []Settlement) (*AdvanceReply, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return nil, err
	}
	a := &advance{s: s, p: d.parts[partition], settle: settle, order: byRun(settle), reply: &AdvanceReply{}}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	for from := 0; from < len(settle); {
		to := a.end(from)
		if err := a.send(ctx, from, to); err != nil {
			return nil, err
		}
		from = to
	}
	return a.reply, nil
}

// advance is one call of Advance.
type advance struct {
	s      *Store
	p      *partition
	settle []Settlement
	order  []int // in which they are sent: a run's nodes one behind the other
	reply  *AdvanceReply

	targets map[string]signalTarget
	input   luascripts.AdvanceInput
	detail  detail
	follow  []string                    // kinds of what the transactions enqueue
	names   map[cyclone.RunID]*runNames // of the runs concerned, where somebody listens
}

// prepare looks up whom the transactions' signals are for, and announces the queues
// of their follow-ups.
func (a *advance) prepare(ctx context.Context) error {
	var queues, runs []string
	for i := range a.settle {
		tx := a.settle[i].rest.tx
		if tx.Empty() {
			continue
		}
		for _, f := range tx.FollowUps {
			o := f.Spec.Effective()
			queues = append(queues, o.QueueName())
		}
		// What the runs of many steps need was announced when they were stored.
		for _, sig := range tx.Signals {
			runs = append(runs, strconv.FormatInt(sig.Run, 10))
		}
	}
	if err := a.p.announceQueues(ctx, queues); err != nil {
		return err
	}
	if len(runs) == 0 {
		return nil
	}
	return persist(ctx, connectFor, func() (err error) {
		a.targets, err = a.p.signalTargets(ctx, runs)
		return err
	})
}

func byRun(settle []Settlement) []int {
	order := make([]int, len(settle))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(settle[a].Claim.ID, settle[b].Claim.ID) })
	return order
}

// end is where the call ends that begins with a settlement.
func (a *advance) end(from int) int {
	ids := 0
	for to := from; to < len(a.order); to++ {
		st := &a.settle[a.order[to]]
		ids++
		if env := st.Claim.Envelope; env != nil && env.Part != nil {
			ids += len(env.Part.Children)
		}
		if tx := st.rest.tx; !tx.Empty() {
			ids += len(tx.FollowUps) + len(tx.Signals) + startedBy(tx.Runs)
		}
		if to > from && (ids > advanceIDs || to-from >= advanceItems) {
			return to
		}
	}
	return len(a.order)
}

func (a *advance) send(ctx context.Context, from, to int) error {
	var call luascripts.Call
	told := a.expect(ctx, from, to)
	defer told()
	reply, err := a.p.numbered(ctx, luascripts.Advance, &call, 0, func() { a.build(&call, from, to) })
	if err == nil {
		a.read(luascripts.ParseAdvance(reply), from, to)
	}
	return err
}

func (a *advance) build(call *luascripts.Call, from, to int) {
	p, in := a.p, &a.input
	*in = luascripts.AdvanceInput{
		Worker: a.s.worker, MaxBytes: p.client.maxBody(), MaxSignals: maxSignals, Channels: p.channels(), Partition: p.number,
		Partitions: len(p.client.space.Load().parts), Stem: len(p.keys.run("")), Listens: p.client.hasListeners(),
	}
	a.detail.reset()
	a.follow = a.follow[:0]
	for _, i := range a.order[from:to] {
		st := &a.settle[i]
		kind, node := st.Claim.names()
		a.detail.add(kind, node, st.Attempt, st.rest.code, st.rest.text)
		in.Items = append(in.Items, a.item(st))
	}
	for _, kind := range a.follow {
		a.detail.add(kind, kind, 1, "", "")
	}
	in.Detail = a.detail.bytes()
	k := p.keys
	luascripts.AdvanceCall(call, &luascripts.AdvanceKeys{
		Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
		Results: k.results(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Paused: k.paused(), IDs: k.ids(),
		Sweep: k.sweep(), Runs: k.runs(), Journals: k.journals(),
	}, in)
}

func (a *advance) item(st *Settlement) luascripts.AdvanceItem {
	c, k := st.Claim, a.p.keys
	it := luascripts.AdvanceItem{
		Queue: a.queue(c.Queue), Op: st.op, Member: c.member, ID: c.id(), Body: string(st.rest.body), Attempt: st.Attempt,
	}
	if st.op != luascripts.OpDiscard {
		it.Body = string(st.rest.result)
	}
	if st.op == luascripts.OpKeep {
		it.KeepUntilMS = a.p.client.clock.nowMS() + milliseconds(st.rest.keep)
	}
	if st.rest.journal {
		it.Journal = k.journal(it.ID)
	}
	if c.Step.Node > 0 {
		it.Run, it.Node = k.run(c.ID.String()), c.Step.Node-1
		a.children(&it, c)
	} else if c.Envelope != nil && c.Envelope.Parent != nil {
		it.Sweep = "c " + it.ID + " " + c.Envelope.Parent.Step + " " + c.Envelope.Parent.Signal
	}
	if !st.rest.tx.Empty() {
		it.Tx = a.tx(st.rest.tx)
	}
	return it
}

// children adds what the node's completion releases.
func (a *advance) children(it *luascripts.AdvanceItem, c *Claimed) {
	if it.Op == luascripts.OpDiscard || c.Envelope == nil || c.Envelope.Part == nil {
		return
	}
	part := c.Envelope.Part
	it.Wide = part.Wide
	for i := range part.Children {
		child := &part.Children[i]
		it.Children = append(it.Children, luascripts.AdvanceChild{
			Node: child.Index, Queue: a.queue(child.Queue), Lane: int(child.Priority),
			DelayMS: max(child.DelayMs, child.StartMs-a.p.client.clock.nowMS(), 0),
		})
	}
}

func (a *advance) queue(name string) int { return queueAmong(&a.input.Queues, a.p, name) }

// tx is the transaction as the script has it.
func (a *advance) tx(content *wire.Content) (ops []luascripts.TxOp) {
	for i := range content.Ops {
		ops = append(ops, txOp(&content.Ops[i]))
	}
	for i := range content.FollowUps {
		it := a.p.client.followUp(&content.FollowUps[i])
		a.follow = append(a.follow, it.kind)
		ops = append(ops, luascripts.TxEnqueue(a.queue(it.queue), it.lane, it.due, it.body))
	}
	for i := range content.Runs {
		ops = append(ops, a.beginRun(&content.Runs[i]))
	}
	for i := range content.Signals {
		sig := &content.Signals[i]
		to := a.targets[strconv.FormatInt(sig.Run, 10)]
		ops = append(ops, luascripts.TxSignal(to.in(a.queue), sig.Name, string(record.AppendValue(nil, sig.Codec, sig.Payload))))
	}
	return ops
}

func txOp(op *wire.TxOp) luascripts.TxOp {
	switch op.Kind {
	case wire.TxSet:
		return luascripts.TxSet(op.Key, op.Values[0], op.TTL.Milliseconds())
	case wire.TxDelete:
		return luascripts.TxDelete(op.Key)
	case wire.TxIncrBy:
		return luascripts.TxIncrBy(op.Key, op.Delta)
	case wire.TxHashSet:
		return luascripts.TxHashSet(op.Key, op.Values...)
	case wire.TxSetAdd:
		return luascripts.TxSetAdd(op.Key, op.Values...)
	default:
		return luascripts.TxListPush(op.Key, op.Values...)
	}
}

// followUp is a step that a transaction enqueues.
func (c *Client) followUp(f *wire.TxFollowUp) item {
	o := f.Spec.Effective()
	it := item{kind: f.Spec.Kind, queue: o.QueueName(), lane: int(o.Lane()), due: dueOf(&o)}
	env := Envelope{
		Kind: it.kind, Queue: it.queue, Priority: wire.Priority(it.lane), Codec: f.Codec, Payload: f.Payload,
		EnqueuedMs: c.clock.nowMS(), Meta: o.Meta,
	}
	env.setExplicit(&f.Spec.Options, &o)
	it.body = string(env.Append(nil))
	return it
}

// read notes what became of some of the settlements.
func (a *advance) read(raw luascripts.AdvanceReply, from, to int) {
	a.reply.Sweep = a.reply.Sweep || raw.Sweep
	a.reply.Now = timeOf(raw.NowMS)
	for _, i := range a.order[from:to] {
		st := &a.settle[i]
		if refusal, ok := raw.Refused[st.Claim.member]; ok {
			if a.reply.Refused == nil {
				a.reply.Refused = make(map[int]*TxError)
			}
			a.reply.Refused[i] = &TxError{Op: refusal.Op, Key: txTarget(st.rest.tx, refusal.Op), Reason: refusal.Reason}
			continue
		}
		if reason, ok := raw.Lost[st.Claim.member]; ok {
			if a.reply.Lost == nil {
				a.reply.Lost = make(map[int]error)
			}
			a.reply.Lost[i] = causeOf(reason)
			continue
		}
		if a.p.client.hasListeners() {
			a.p.client.emit(st.event(a.reply.Now))
		}
	}
	a.tell(raw.Lines)
}

// txTarget names what an operation of a transaction is about.
func txTarget(tx *wire.Content, op int) string {
	if tx == nil || op < 0 {
		return ""
	}
	if op < len(tx.Ops) {
		return tx.Ops[op].Key
	}
	if op -= len(tx.Ops); op < len(tx.FollowUps) {
		return tx.FollowUps[op].Spec.Kind
	}
	if op -= len(tx.FollowUps); op < len(tx.Runs) {
		return "workflow " + tx.Runs[op].Name
	}
	if op -= len(tx.Runs); op < len(tx.Signals) {
		return tx.Signals[op].Name + " of run " + cyclone.RunID(tx.Signals[op].Run).String()
	}
	return ""
}
