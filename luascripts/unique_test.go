package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestUniqueWhileUnfinished: the key is held until its step ends, in whichever
// way, and free from then on.
func TestUniqueWhileUnfinished(t *testing.T) {
	t.Parallel()
	ends := map[string]func(l *lab, m []string){
		"complete": func(l *lab, m []string) { l.settle(luascripts.OpComplete, m...) },
		"keep":     func(l *lab, m []string) { l.settle(luascripts.OpKeep, m...) },
		"discard":  func(l *lab, m []string) { l.settle(luascripts.OpDiscard, m...) },
		"cancel":   func(l *lab, _ []string) { l.cancel("1") },
		"delete":   func(l *lab, _ []string) { l.delete("1") },
		"purge": func(l *lab, m []string) {
			l.settle(luascripts.OpGiveBack, m...)
			l.purge("ready:q:d", true, 10)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.enqueue(item("1", unique("D", 0, existing)))
				l.equal(l.content("uniq"), []string{"D=1"})
				l.equal(l.content("uniqof"), []string{"1=uD"})
				m := l.claim(1)
				l.equal(l.content("uniqof"), []string{"1=sD"})
				l.equal(l.conflict(item("2", unique("D", 0, existing))), luascripts.Conflict{Item: 0, Holder: "1"})
				end(l, m)
				l.equal(len(l.content("uniq"))+len(l.content("uniqof"))+len(l.content("uniqx")), 0)
				l.equal(l.enqueue(item("3", unique("D", 0, existing))).Conflicts, []luascripts.Conflict(nil))
				l.equal(l.content("uniq"), []string{"D=3"})
			})
		})
	}
}

// conflict enqueues an item that must meet a held key, and lets the rest be as it was.
func (l *lab) conflict(it luascripts.EnqueueItem) luascripts.Conflict {
	l.Helper()
	before, counted := l.state(), l.content("stats")
	reply := l.enqueue(it)
	l.equal(l.content("stats"), counted)
	if len(reply.Conflicts) != 1 {
		l.Fatalf("conflicts: %v", reply.Conflicts)
	}
	if !reply.Conflicts[0].Replaced {
		l.equal(l.state(), before)
	}
	return reply.Conflicts[0]
}

// TestUniqueIsKeptBetweenAttempts: what comes back keeps its key.
func TestUniqueIsKeptBetweenAttempts(t *testing.T) {
	t.Parallel()
	for _, op := range []luascripts.Op{luascripts.OpRetry, luascripts.OpSnooze, luascripts.OpGiveBack, luascripts.OpRelease, luascripts.OpPutBack} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.enqueue(item("1", unique("D", 0, existing)))
				l.settle(op, l.claim(1)...)
				l.equal(l.content("uniq"), []string{"D=1"})
				l.equal(l.content("uniqof"), []string{"1=sD"})
				l.equal(l.conflict(item("2", unique("D", 0, replace))), luascripts.Conflict{Item: 0, Holder: "1"})
			})
		})
	}
}

// TestUniqueForATime: the key is held for its time whatever becomes of the step,
// unless an operator removes it, and is taken over afterwards without a trace.
func TestUniqueForATime(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("D", 5000, existing)))
		l.settle(luascripts.OpComplete, l.claim(1)...)
		l.want(`
			leased:q pad
			uniq D=1
			uniqof 1=dD
			uniqx D@5000
		`)
		l.now += 4999
		for _, rule := range []int{existing, reject, replace} {
			l.equal(l.conflict(item("2", unique("D", 5000, rule))), luascripts.Conflict{Item: 0, Holder: "1"})
		}
		l.now++
		l.enqueue(item("2", unique("D", 5000, existing)))
		l.want(`
			leased:q pad
			ready:q:d 2
			steps 2=b2
			uniq D=2
			uniqof 2=dD
			uniqx D@10000
		`)
		// A step that holds a key for a time is not replaced, even before it starts.
		l.equal(l.conflict(item("3", unique("D", 0, replace))), luascripts.Conflict{Item: 0, Holder: "2"})
		l.now += 5000
		l.enqueue(item("4", unique("D", 0, existing)))
		l.equal(l.content("uniq"), []string{"D=4"})
		l.equal(l.content("uniqof"), []string{"4=uD"})
		l.equal(len(l.content("uniqx")), 0)
	})
}

// TestUniqueForATimeIsFreedByOperators only.
func TestUniqueForATimeIsFreedByOperators(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("A", 5000, existing)), item("2", unique("B", 5000, existing)), item("3", unique("C", 5000, existing)),
			item("4", unique("E", 5000, existing)), item("5", unique("F", 5000, existing)))
		m := l.claim(2)
		l.settle(luascripts.OpDiscard, m[0])
		l.settle(luascripts.OpKeep, m[1])
		l.cancel("3")
		l.delete("4")
		l.equal(l.content("uniq"), []string{"A=1", "B=2", "F=5"})
		l.now += 60_001
		l.trim("discarded:q", 0, 10, 10)
		l.trim("completed:q", 0, 10, 10)
		l.equal(l.content("uniq"), []string{"A=1", "B=2", "F=5"})
		l.purge("ready:q:d", true, 10)
		l.equal(l.content("uniq"), []string{"A=1", "B=2"})
		l.equal(l.content("uniqof"), []string{"1=dA", "2=dB"})
	})
}

// TestUniqueOfARequest: its key is there until its time, whatever becomes of its holder.
func TestUniqueOfARequest(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("A", 1000, luascripts.ConflictRequest)), item("2", unique("B", 1000, luascripts.ConflictRequest)),
			item("3", unique("C", 1000, luascripts.ConflictRequest)), item("4", unique("D", 1000, luascripts.ConflictRequest)))
		l.settle(luascripts.OpComplete, l.claim(1)...)
		l.cancel("2")
		l.delete("3")
		l.purge("ready:q:d", true, 10)
		l.equal(l.content("uniq"), []string{"A=1", "B=2", "C=3", "D=4"})
		l.equal(l.content("uniqof"), []string{"1=rA", "2=rB", "3=rC", "4=rD"})
		l.equal(l.enqueue(item("5", unique("C", 1000, luascripts.ConflictRequest))).Conflicts, []luascripts.Conflict{{Holder: "3"}})
		l.now += 1001
		l.equal(len(l.enqueue(item("6", unique("C", 1000, luascripts.ConflictRequest))).Conflicts), 0)
	})
}

// TestUniqueHolderWithoutBody: a key whose holder is gone is free.
func TestUniqueHolderWithoutBody(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("D", 0, existing)))
		l.put(l.rdb.Del(ctx, l.key("steps"), l.key("ready:q:d")))
		l.enqueue(item("2", unique("D", 0, replace)))
		l.want(`
			ready:q:d 2
			steps 2=b2
			uniq D=2
			uniqof 2=uD
		`)
	})
}

// TestUniqueFreesItsOwnKeyOnly: a step that ends leaves a key that another one
// has taken over.
func TestUniqueFreesItsOwnKeyOnly(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("D", 0, existing)), item("2"))
		m := l.claim(2)
		l.put(l.rdb.HSet(ctx, l.key("uniq"), "D", "2"))
		l.settle(luascripts.OpComplete, m[0])
		l.equal(l.content("uniq"), []string{"D=2"})
		l.equal(len(l.content("uniqof")), 0)
	})
}

// TestUniqueInsideABatch: the first of a batch holds the key against the others,
// and each is answered by its place.
func TestUniqueInsideABatch(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		in := l.enqueueInput(item("1", unique("D", 0, existing)), item("2"), item("3", unique("D", 0, reject)), item("4", unique("D", 0, replace)), item("5", unique("E", 0, replace)))
		in.Block = 7
		call := l.enqueueCall(in)
		want := luascripts.EnqueueReply{NowMS: start, First: 1, Conflicts: []luascripts.Conflict{
			{Item: 2, Holder: "1"}, {Item: 3, Holder: "1", Replaced: true},
		}}
		l.equal(luascripts.ParseEnqueue(l.ok(luascripts.Enqueue, call)), want)
		l.equal(luascripts.ParseEnqueue(l.ok(luascripts.Enqueue, call)), want)
		l.equal(l.total("enqueued"), 3)
		l.want(`
			ids 7
			ready:q:d 5 2 1
			steps 1=b4 2=b2 5=b5
			uniq D=1 E=5
			uniqof 1=uD 5=uE
		`)
	})
}

// TestUniqueReplace: a holder that has not started gets the new body, and its new
// time while it is scheduled; one that is ready stays so; one that has started
// is left alone, even when it waits again.
func TestUniqueReplace(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", due("+5000"), unique("D", 0, existing)))
		swap := func(id string, change ...func(*luascripts.EnqueueItem)) {
			l.Helper()
			it := item(id, append(change, unique("D", 0, replace))...)
			l.equal(l.conflict(it), luascripts.Conflict{Item: 0, Holder: "1", Replaced: true})
		}
		swap("2", due("+9000"), onLane(0))
		l.want(`
			scheduled:q 1@9000h
			steps 1=b2
			uniq D=1
			uniqof 1=uD
		`)
		swap("3")
		l.want(`
			ready:q:d 1
			steps 1=b3
			uniq D=1
			uniqof 1=uD
		`)
		swap("4", due("+9000"))
		l.want(`
			ready:q:d 1
			steps 1=b4
			uniq D=1
			uniqof 1=uD
		`)
		m := l.claim(1)
		l.equal(l.conflict(item("5", unique("D", 0, replace))), luascripts.Conflict{Item: 0, Holder: "1"})
		l.settle(luascripts.OpPutBack, m...)
		l.equal(l.conflict(item("6", unique("D", 0, replace))), luascripts.Conflict{Item: 0, Holder: "1"})
		l.equal(l.content("steps"), []string{"1=b4"})
		// Without its mark a holder counts as started.
		l.put(l.rdb.Del(ctx, l.key("uniqof")))
		l.equal(l.conflict(item("7", unique("D", 0, replace))), luascripts.Conflict{Item: 0, Holder: "1"})
	})
}

// TestUniqueRevive: an operator's retry takes its key again, unless another step
// has it.
func TestUniqueRevive(t *testing.T) {
	t.Parallel()
	retry := func(l *lab, id, digest string) []string {
		return luascripts.Outcomes(l.ok(luascripts.Revive, l.reviveCall(luascripts.ReviveStep{ID: id, Digest: digest, Note: "n"})))
	}
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("D", 0, existing)))
		l.settle(luascripts.OpDiscard, l.claim(1)...)
		l.enqueue(item("2", unique("D", 0, existing)))
		held := l.state()
		l.equal(retry(l, "1", "D"), []string{"conflict=2"})
		l.equal(l.state(), held)
		l.equal(l.total("retried"), 0)

		l.delete("2")
		l.claim(1)
		l.equal(retry(l, "1", "D"), []string{"revived"})
		l.equal(l.content("uniq"), []string{"D=1"})
		l.equal(l.content("uniqof"), []string{"1=sD"})

		// What it holds itself is no conflict; a key whose time has passed is taken over.
		l.settle(luascripts.OpDiscard, l.claim(1)...)
		l.put(l.rdb.HSet(ctx, l.key("uniq"), "D", "1"))
		l.equal(retry(l, "1", "D"), []string{"revived"})
		l.settle(luascripts.OpDiscard, l.claim(1)...)
		l.enqueue(item("3", unique("D", 5000, existing)))
		l.equal(retry(l, "1", "D"), []string{"conflict=3"})
		l.now += 5000
		l.equal(retry(l, "1", "D"), []string{"revived"})
		l.equal(l.content("uniq"), []string{"D=1"})
		l.equal(l.content("uniqof"), []string{"1=sD"})
		l.equal(len(l.content("uniqx")), 0)
	})
}
