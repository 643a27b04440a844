package luascripts

// Record is the script that stores what tasks have recorded.
var Record = load("record")

// RecordKeys are the fixed keys of Record.
type RecordKeys struct{ Ghosts, Journals string }

// JournalField is one field of a journal.
type JournalField struct{ Field, Value string }

// RecordItem is what one task has recorded. Fields that begin with `r:` are
// written once; the others are replaced.
type RecordItem struct {
	Leased, Journal string // keys
	Member, ID      string
	First           bool // the journal may be new
	Fields          []JournalField
}

// RecordCall fills c: at most 500 fields in all. Strings are passed by reference
// and must stay as they are until the call has returned.
func RecordCall(c *Call, k *RecordKeys, items []RecordItem) {
	c.Keys = append(c.Keys, k.Ghosts, k.Journals)
	c.arg(len(items))
	for i := range items {
		it := &items[i]
		c.Keys = append(c.Keys, it.Leased, it.Journal)
		c.arg(&it.Member, &it.ID, it.First)
		c.fields(it.Fields)
	}
}

// fields adds the fields of a journal behind their number.
func (c *Call) fields(fields []JournalField) {
	c.arg(len(fields))
	for i := range fields {
		c.arg(&fields[i].Field, &fields[i].Value)
	}
}

// What Record, Take and Suspend answer for a step, beside [ReasonLost] and
// [ReasonCancelled].
const (
	Recorded  = "ok"
	Different = "different" // another value was recorded before; nothing of the step is written
)

// ParseRecord returns the outcome for each item.
func ParseRecord(reply []any) []string { return texts(list(reply, 2)) }
