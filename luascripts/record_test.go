package luascripts_test

import (
	"strconv"
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

func field(name, value string) luascripts.JournalField {
	return luascripts.JournalField{Field: name, Value: value}
}

// TestRecordWritesOnce: a record stays what it is; an equal one is accepted, another
// refused. Other entries are replaced.
func TestRecordWritesOnce(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "7.0", "3")
		l.equal(l.record(rec(m[0], true, "t:a#1", "1"), rec(m[0], true, "r:a#1", "x"), rec(m[0], false, "r:b#1", "y"), rec(m[1], true, "z:a#1", "9")),
			[]string{"ok", "ok", "ok", "ok"})
		want := `
			journal:1 r:a#1=x r:b#1=y t:a#1=1
			journal:7.0 z:a#1=9
			journals 1@0 7.0@0
			leased:q 1:t1@30000d 3:t1@30000d 7.0:t1@30000d pad
			steps 1=b1 3=b3 7.0=b7.0
		`
		l.want(want)
		l.now++
		l.equal(l.record(rec(m[0], true, "r:a#1", "x"), rec(m[1], true, "z:a#1", "9")), []string{"ok", "ok"})
		l.want(want)
		l.equal(l.record(rec(m[0], true, "r:b#1", "other"), rec(m[2], false, "r:a#1", "x"), rec(m[0], false, "t:a#1", "2"), rec(m[1], false, "z:a#1", "8")),
			[]string{"different", "ok", "ok", "ok"})
		l.want(`
			journal:1 r:a#1=x r:b#1=y t:a#1=2
			journal:3 r:a#1=x
			journal:7.0 z:a#1=8
			journals 1@0 7.0@0
			leased:q 1:t1@30000d 3:t1@30000d 7.0:t1@30000d pad
			steps 1=b1 3=b3 7.0=b7.0
		`)
	})
}

// TestRecordOfSeveralQueues: each queue's steps are looked for among its own leases.
func TestRecordOfSeveralQueues(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2", "3")
		item := func(i int) luascripts.RecordItem {
			it := rec(m[i], true, "r:a#1", "x")
			it.ID = strconv.Itoa(i + 1)
			it.Journal = l.key("journal:" + it.ID)
			return it
		}
		c := new(luascripts.Call)
		luascripts.RecordCall(c, named[luascripts.RecordKeys](l, ""), []luascripts.RecordQueue{
			{Leased: l.key("leased:p"), Items: []luascripts.RecordItem{item(0)}}, {Leased: l.key("leased:q"), Items: []luascripts.RecordItem{item(1), item(2)}},
		})
		l.equal(luascripts.ParseRecord(l.ok(luascripts.Record, c)), map[int]string{0: luascripts.ReasonLost})
		l.equal(l.content("journals"), []string{"2@0", "3@0"})
		l.equal(l.content("journal:1"), nothing)
		l.equal(l.content("journal:3"), []string{"r:a#1=x"})
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
			items = append(items, rec(member, true, "r:a#1", "x"))
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
