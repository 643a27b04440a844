package luascripts

// Record is the script that stores what tasks have recorded.
var Record = load("record")

// RecordKeys are the fixed keys of Record.
type RecordKeys struct{ Ghosts, Journals string }

// JournalField is one field of a journal.
type JournalField struct{ Field, Value string }

// RecordQueue has what tasks of one queue have recorded.
type RecordQueue struct {
	Leased string // key
	Items  []RecordItem
}

// RecordItem is an entry that one task has recorded. One whose field begins with
// `r:` is written once; others are replaced.
type RecordItem struct {
	Journal    string // key
	Member, ID string
	First      bool // the journal may be new
	JournalField
}

// RecordCall fills c: at most 500 entries in all. Strings are passed by reference
// and must stay as they are until the call has returned.
func RecordCall(c *Call, k *RecordKeys, queues []RecordQueue) {
	c.Keys = append(c.Keys, k.Ghosts, k.Journals)
	for i := range queues {
		c.Keys = append(c.Keys, queues[i].Leased)
	}
	c.arg(len(queues))
	for i := range queues {
		items := queues[i].Items
		c.arg(len(items))
		for k := range items {
			c.Keys = append(c.Keys, items[k].Journal)
			c.arg(&items[k].Member)
		}
		for k := range items {
			c.arg(&items[k].ID)
		}
		for k := range items {
			c.arg(&items[k].Field, &items[k].Value)
		}
	}
	n := 0
	for i := range queues {
		for k := range queues[i].Items {
			if n++; queues[i].Items[k].First {
				c.arg(n)
			}
		}
	}
}

// fields adds the fields of a journal behind their number.
func (c *Call) fields(fields []JournalField) {
	c.arg(len(fields))
	for i := range fields {
		c.arg(&fields[i].Field, &fields[i].Value)
	}
}

// What Take and Suspend, and Record where it refuses, answer for a step, beside [ReasonLost] and
// [ReasonCancelled].
const (
	Recorded  = "ok"
	Different = "different" // another value was recorded before; nothing of the step is written
)

// ParseRecord returns why entries were not written, by their index over all queues.
func ParseRecord(reply []any) map[int]string {
	told := list(reply, 2)
	refused := make(map[int]string, len(told)/2)
	for i := 0; i+1 < len(told); i += 2 {
		refused[int(integer(told, i))-1] = text(told, i+1)
	}
	return refused
}
