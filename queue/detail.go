package queue

import (
	"github.com/cyclone-queue/cyclone/internal/pack"
)

// detail is what a script cannot know about the steps of a call, sent along so
// that the transition itself can publish whole events: per step its kind, node,
// attempt and failure. Names stand in a table, so a plain step takes two bytes.
//
//	[[name, ...], [[kind, node, attempt, code, error], ...]]  (kind and node are indexes; what is trivial is cut off)
type detail struct {
	names []string
	items []byte
	n     int
	out   []byte
}

func (d *detail) reset() {
	d.names, d.items, d.n = d.names[:0], d.items[:0], 0
}

// eventErrorBytes bounds the error text of an event.
const eventErrorBytes = 512

func (d *detail) add(kind, node string, attempt int, code, text string) {
	d.n++
	k := d.name(kind)
	switch {
	case code != "" || text != "":
		d.items = pack.AppendArray(d.items, 5)
		d.items = pack.AppendUint(d.items, k)
		d.items = pack.AppendUint(d.items, d.name(node))
		d.items = pack.AppendUint(d.items, uint64(attempt))
		d.items = pack.AppendString(d.items, code)
		d.items = pack.AppendString(d.items, clip(text, eventErrorBytes))
	case attempt != 1 || node != kind:
		d.items = pack.AppendArray(d.items, 3)
		d.items = pack.AppendUint(d.items, k)
		d.items = pack.AppendUint(d.items, d.name(node))
		d.items = pack.AppendUint(d.items, uint64(attempt))
	default:
		d.items = pack.AppendArray(d.items, 1)
		d.items = pack.AppendUint(d.items, k)
	}
}

func (d *detail) name(s string) uint64 {
	for i := range d.names {
		if d.names[i] == s {
			return uint64(i)
		}
	}
	d.names = append(d.names, s)
	return uint64(len(d.names) - 1)
}

// bytes returns the encoded details, valid until the next reset.
func (d *detail) bytes() []byte {
	d.out = pack.AppendArray(d.out[:0], 2)
	d.out = pack.AppendArray(d.out, len(d.names))
	for _, s := range d.names {
		d.out = pack.AppendString(d.out, s)
	}
	d.out = pack.AppendArray(d.out, d.n)
	d.out = append(d.out, d.items...)
	return d.out
}

// detailItem is one decoded entry.
type detailItem struct {
	kind, node string
	attempt    int
	code, text string
}

// decodeDetail reads what bytes wrote; nil for anything else.
func decodeDetail(b []byte) []detailItem {
	r := pack.NewReader(b)
	if r.ArrayLen() != 2 {
		return nil
	}
	var names []string
	for range r.ArrayLen() {
		names = append(names, r.Text())
	}
	name := func() string {
		if i := r.IntIn(0, int64(len(names))-1); r.Err() == nil {
			return names[i]
		}
		return ""
	}
	var items []detailItem
	for range r.ArrayLen() {
		it := detailItem{attempt: 1}
		n := r.ArrayLen()
		it.kind = name()
		it.node = it.kind
		if n >= 3 {
			it.node = name()
			it.attempt = int(r.IntIn(0, 1<<31-1))
		}
		if n >= 5 {
			it.code, it.text = r.Text(), r.Text()
		}
		if r.Err() != nil {
			return nil
		}
		items = append(items, it)
	}
	return items
}
