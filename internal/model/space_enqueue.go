package model

import "slices"

// Rule is what an enqueue does about a held key.
type Conflict int

// The rules.
const (
	Existing Conflict = iota
	Reject
	Replace
	OfRequest // as Existing, and only time frees the key
)

// Item is one step to enqueue.
type Item struct {
	ID, Queue, Body string
	Lane            int8
	Due             int64 // 0 for now
	Digest          string
	Rule            Conflict
	Scope           int64 // 0: the key is held while the step is unfinished
}

// Refused is an item that was not enqueued because its key is held.
type Refused struct {
	Item     int
	Holder   string
	Replaced bool
}

// Enqueue stores the items, or what their keys leave of them. block ids are set
// aside behind the first of the answer. touched are the queues in which a worker
// may be woken, in any order.
func (s *Space) Enqueue(block int64, items []Item) (first int64, refused []Refused) {
	touched := map[string]bool{}
	for i, it := range items {
		holder, former := "", ""
		if it.Digest != "" {
			holder, former = s.holder(it.Digest)
		}
		if holder != "" {
			refused = append(refused, Refused{i, holder, it.Rule == Replace && s.replace(it, holder, touched)})
			continue
		}
		delete(s.Held, former)
		e := &Entry{ID: it.ID, Queue: it.Queue, Body: it.Body}
		s.Steps[it.ID] = e
		switch {
		case it.Digest == "":
		case it.Scope == 0:
			s.hold(it.Digest, it.ID, 'u', 0)
		case it.Rule == OfRequest:
			s.hold(it.Digest, it.ID, 'r', s.Now+it.Scope)
		default:
			s.hold(it.Digest, it.ID, 'd', s.Now+it.Scope)
		}
		s.place(e, it.Due, it.Lane, touched)
	}
	for queue := range touched {
		s.wake(queue)
	}
	if block > 0 {
		s.IDs += block
		first = s.IDs - block + 1
	}
	return first, refused
}

// place makes a step wait for its time or ready. Either wakes a worker, the first
// only if nothing is due before.
func (s *Space) place(e *Entry, due int64, lane int8, touched map[string]bool) {
	e.Enqueue(s.Now, due, lane)
	if e.State == Ready {
		s.last(e)
		touched[e.Queue] = true
		return
	}
	if slices.Index(s.In(e.Queue, Scheduled), e) == 0 {
		touched[e.Queue] = true
	}
}

// replace gives a holder that was never claimed another body, and another time if
// it waits for one.
func (s *Space) replace(it Item, holder string, touched map[string]bool) bool {
	if s.Held[holder] == "" || s.Held[holder][0] != 'u' {
		return false
	}
	e := s.Steps[holder]
	e.Body = it.Body
	if e.State == Scheduled {
		s.place(e, it.Due, it.Lane, touched)
	}
	return true
}
