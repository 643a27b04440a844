package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

func field(name, value string) luascripts.JournalField {
	return luascripts.JournalField{Field: name, Value: value}
}

// TestRecordWritesOnce: a record stays what it is; an equal one is accepted, and
// where another value comes nothing of the step is written. Tries are replaced.
func TestRecordWritesOnce(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "7.0", "3")
		rec := func(member string, first bool, fields ...luascripts.JournalField) luascripts.RecordItem {
			return luascripts.RecordItem{Member: member, First: first, Fields: fields}
		}
		l.equal(l.record(rec(m[0], true, field("t:a#1", "1"), field("r:a#1", "x"), field("r:b#1", "y")), rec(m[1], true, field("z:a#1", "9"))),
			[]string{"ok", "ok"})
		want := `
			journal:1 r:a#1=x r:b#1=y t:a#1=1
			journal:7.0 z:a#1=9
			journals 1@0 7.0@0
			leased:q 1:t1@30000d 3:t1@30000d 7.0:t1@30000d pad
			steps 1=b1 3=b3 7.0=b7.0
		`
		l.want(want)
		l.now++
		l.equal(l.record(rec(m[0], true, field("r:a#1", "x")), rec(m[1], true, field("z:a#1", "9"))), []string{"ok", "ok"})
		l.want(want)
		l.equal(l.record(rec(m[0], false, field("t:a#1", "2"), field("r:c#1", "z"), field("r:b#1", "other")), rec(m[2], false, field("r:a#1", "x"))),
			[]string{"different", "ok"})
		l.equal(l.record(rec(m[0], false, field("t:a#1", "2"), field("z:b#1", "3")), rec(m[1], false, field("z:a#1", "8"))), []string{"ok", "ok"})
		l.want(`
			journal:1 r:a#1=x r:b#1=y t:a#1=2 z:b#1=3
			journal:3 r:a#1=x
			journal:7.0 z:a#1=8
			journals 1@0 7.0@0
			leased:q 1:t1@30000d 3:t1@30000d 7.0:t1@30000d pad
			steps 1=b1 3=b3 7.0=b7.0
		`)
	})
}

// TestRecordFence: nothing is recorded for a step that is not held.
func TestRecordFence(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2", "3")
		l.cancel("2")
		var items []luascripts.RecordItem
		for _, member := range []string{"1:stale", m[1], m[2], "9:t1"} {
			items = append(items, luascripts.RecordItem{Member: member, First: true, Fields: []luascripts.JournalField{field("r:a#1", "x")}})
		}
		l.equal(l.record(items...), []string{luascripts.ReasonLost, luascripts.ReasonCancelled, luascripts.Recorded, luascripts.ReasonLost})
		l.want(`
			cancelled:q 2@0
			ghosts 2=xq
			journal:3 r:a#1=x
			journals 3@0
			leased:q 1:t1@30000d 2:t1@30000d 3:t1@30000d pad
			steps 1=b1 2=b2 3=b3
		`)
	})
}
