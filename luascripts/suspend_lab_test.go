package luascripts_test

import (
	"strings"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// sleeping suspends a held step of the default lane of queue 0 for a second: a task
// of its own, or a node.
func (l *lab) sleeping(member string, change ...func(*luascripts.SuspendItem)) luascripts.SuspendItem {
	id, _, _ := strings.Cut(member, ":")
	it := luascripts.SuspendItem{
		Lane: 1, Member: member, ID: id, In: luascripts.SuspendWaiting, Due: "+1000",
		Journal: l.key("journal:" + id), Signals: l.key("journal:" + id),
	}
	if run, _, isNode := strings.Cut(id, "."); isNode {
		it.Signals = l.key("run:" + run)
	}
	for _, f := range change {
		f(&it)
	}
	return it
}

// awaiting waits for signals, and for no time.
func awaiting(names ...string) func(*luascripts.SuspendItem) {
	return func(it *luascripts.SuspendItem) { it.Names, it.Due = names, "" }
}

func noting(fields ...luascripts.JournalField) func(*luascripts.SuspendItem) {
	return func(it *luascripts.SuspendItem) { it.First, it.Fields = true, fields }
}

func (l *lab) suspendCall(items ...luascripts.SuspendItem) *luascripts.Call {
	c := new(luascripts.Call)
	luascripts.SuspendCall(c, named[luascripts.SuspendKeys](l, ""), &luascripts.SuspendInput{
		Session: l.next(), Worker: "w", Channels: l.channels(), Detail: []byte("detail"),
		Queues: []luascripts.TurnQueue{*named[luascripts.TurnQueue](l, "q"), *named[luascripts.TurnQueue](l, "p")}, Items: items,
	})
	return c
}

func (l *lab) suspend(items ...luascripts.SuspendItem) []string {
	l.Helper()
	return luascripts.ParseSuspend(l.ok(luascripts.Suspend, l.suspendCall(items...)))
}

// record stores entries of the journals of held steps of queue q, and tells what
// became of each.
func (l *lab) record(items ...luascripts.RecordItem) []string {
	l.Helper()
	for i := range items {
		items[i].ID, _, _ = strings.Cut(items[i].Member, ":")
		items[i].Journal = l.key("journal:" + items[i].ID)
	}
	c := new(luascripts.Call)
	luascripts.RecordCall(c, named[luascripts.RecordKeys](l, ""), []luascripts.RecordQueue{{Leased: l.key("leased:q"), Items: items}})
	refused := luascripts.ParseRecord(l.ok(luascripts.Record, c))
	outcomes := make([]string, len(items))
	for i := range items {
		if outcomes[i] = refused[i]; outcomes[i] == "" {
			outcomes[i] = luascripts.Recorded
		}
	}
	return outcomes
}

// rec is an entry of a held step.
func rec(member string, first bool, name, value string) luascripts.RecordItem {
	return luascripts.RecordItem{Member: member, First: first, JournalField: field(name, value)}
}

// take asks for a signal, to be recorded as its first use, with a deadline in ms, 0
// for none.
func (l *lab) take(member, name string, deadline int64) (outcome, record string) {
	l.Helper()
	return l.taking(member, name, deadline, true)
}

// taking is take by a task whose journal may be new, or not.
func (l *lab) taking(member, name string, deadline int64, first bool) (outcome, record string) {
	l.Helper()
	id, _, _ := strings.Cut(member, ":")
	it := l.sleeping(member)
	k := &luascripts.TakeKeys{
		Ghosts: l.key("ghosts"), Journals: l.key("journals"), Leased: l.key("leased:q"), Journal: it.Journal, Signals: it.Signals,
	}
	c := new(luascripts.Call)
	luascripts.TakeCall(c, k, &luascripts.TakeInput{
		Member: member, ID: id, Name: name, Field: "r:" + name + "#1", Head: "sent ", DeadlineMS: deadline, Timeout: "late", First: first,
	})
	return luascripts.ParseTake(l.ok(luascripts.Take, c))
}

// signalInput sends "go" to a run of many steps, or to a single task of queue q.
func (l *lab) signalInput(id string, change ...func(*luascripts.SignalInput)) *luascripts.SignalInput {
	in := &luascripts.SignalInput{
		Channels: l.channels(), To: luascripts.SignalTarget{ID: id}, Name: "go", Payload: "payload", MaxBytes: 100, MaxSignals: 3,
		Queues: []luascripts.TurnQueue{*named[luascripts.TurnQueue](l, "q")},
	}
	for _, f := range change {
		f(in)
	}
	return in
}

func toTask(in *luascripts.SignalInput) { in.To.Task = true }

func knownBy(key string) func(*luascripts.SignalInput) {
	return func(in *luascripts.SignalInput) { in.Key = key }
}

// onlyRouse sends nothing, so nothing stands in its way.
func onlyRouse(in *luascripts.SignalInput) { in.Rouse, in.MaxSignals = true, 0 }

func blind(in *luascripts.SignalInput) { in.Queues = nil }

func (l *lab) signalCall(in *luascripts.SignalInput) *luascripts.Call {
	k := named[luascripts.SignalKeys](l, "")
	k.Signals = l.key("run:" + in.To.ID)
	if in.To.Task {
		k.Signals = l.key("journal:" + in.To.ID)
	}
	in.Session = l.next()
	c := new(luascripts.Call)
	luascripts.SignalCall(c, k, in)
	return c
}

// signal returns the outcome and the queues that are still to be roused.
func (l *lab) signal(id string, change ...func(*luascripts.SignalInput)) (outcome string, queues []string) {
	l.Helper()
	reply := luascripts.ParseSignal(l.ok(luascripts.Signal, l.signalCall(l.signalInput(id, change...))))
	return reply.Outcome, reply.Queues
}

// signalled is signal that is accepted and leaves nobody to be roused.
func (l *lab) signalled(id string, change ...func(*luascripts.SignalInput)) {
	l.Helper()
	outcome, queues := l.signal(id, change...)
	l.equal(outcome, luascripts.SignalAccepted)
	l.equal(queues, nothing)
}
