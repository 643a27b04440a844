package model

import (
	"cmp"
	"slices"
)

// Space is one partition: steps beside each other, with the order in which they
// wait, the unique keys that they hold and the workers that stand in line. Its
// methods are the scripts. It is a model, so it panics on what no caller does.
type Space struct {
	Now     int64 // ms
	Steps   map[string]*Entry
	Uniq    map[string]Hold   // by digest
	Held    map[string]string // what a step's id holds: a mark and a digest
	Results map[string]string
	Notes   map[string]int // lines of history by id
	Paused  map[string]bool
	Lines   map[string][]Waiter // by queue, in order
	IDs     int64
	// Said has what was published since it was last emptied: "wake WORKER" and
	// "cancel ID ...".
	Said []string

	front, back int64
}

// Entry is a step with what is stored of it.
type Entry struct {
	Step
	ID, Queue, Body string
	// At is the score of an ended step: when it ended, or until when it is kept.
	At int64
	// Token is the text of Step.Lease.Token.
	Token string

	order int64 // of a listed step: lower is taken first
}

// Hold is a unique key that is held.
type Hold struct {
	Holder string // "" when only the time is left of it
	Ends   int64  // 0: while unfinished
}

// Waiter is a worker that stands in line until a time.
type Waiter struct {
	Worker string
	Until  int64
}

// NewSpace returns an empty partition.
func NewSpace(now int64) *Space {
	return &Space{
		Now: now, Steps: map[string]*Entry{}, Uniq: map[string]Hold{}, Held: map[string]string{}, Results: map[string]string{},
		Notes: map[string]int{}, Paused: map[string]bool{}, Lines: map[string][]Waiter{},
	}
}

// Queued lists the entries of a queue that keep says, in the order of less.
func (s *Space) queued(queue string, keep func(*Entry) bool, less func(a, b *Entry) int) []*Entry {
	var list []*Entry
	for _, e := range s.Steps {
		if e.Queue == queue && keep(e) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, less)
	return list
}

// Ready lists what a queue's lane has, what is taken next first.
func (s *Space) Ready(queue string, lane int8) []*Entry {
	return s.queued(queue, func(e *Entry) bool { return e.Listed() && e.Lane == lane },
		func(a, b *Entry) int { return cmp.Compare(a.order, b.order) })
}

// Leased lists the leases of a queue, what ends first first.
func (s *Space) Leased(queue string) []*Entry {
	return s.queued(queue, func(e *Entry) bool { return e.Held() }, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.leaseScore(), b.leaseScore()), cmp.Compare(a.ID+":"+a.Token, b.ID+":"+b.Token))
	})
}

func (e *Entry) leaseScore() int64 {
	score := e.Lease.Until*16 + int64(e.Lane)*2
	if e.Lease.Started {
		score++
	}
	return score
}

// In lists a sorted index: of the waiting by due time and lane, of the ended by
// time.
func (s *Space) In(queue string, state State) []*Entry {
	return s.queued(queue, func(e *Entry) bool { return e.State == state }, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.indexScore(), b.indexScore()), cmp.Compare(a.ID, b.ID))
	})
}

func (e *Entry) indexScore() int64 {
	if e.State.Waiting() {
		return e.Due*16 + int64(e.Lane)
	}
	return e.At
}

// last puts a step behind those that are ready, first before them.
func (s *Space) last(e *Entry)  { s.back++; e.order = s.back }
func (s *Space) first(e *Entry) { s.front--; e.order = s.front }

// stored returns a step that has a body.
func (s *Space) stored(id string) *Entry {
	if e := s.Steps[id]; e != nil && e.State != Absent {
		return e
	}
	return nil
}

// settled removes an entry of which nothing is left.
func (s *Space) settled(e *Entry) {
	if e.State == Absent && e.Left == Nothing {
		delete(s.Steps, e.ID)
	}
}

// forget drops what is kept beside a step that is gone.
func (s *Space) forget(id string, result bool) {
	delete(s.Notes, id)
	if result {
		delete(s.Results, id)
	}
}

// free frees the unique key of a step that ends. Only an operator frees one that
// is held for a time, and nobody that of a request.
func (s *Space) free(id string, byOperator bool) {
	held := s.Held[id]
	if held == "" || held[0] == 'r' || held[0] == 'd' && !byOperator {
		return
	}
	digest := held[1:]
	if h := s.Uniq[digest]; h.Holder == id {
		s.drop(digest)
	}
	delete(s.Held, id)
}

// drop forgets the holder of a key; a time that has not passed stays noted.
func (s *Space) drop(digest string) {
	h := s.Uniq[digest]
	h.Holder = ""
	if h.Ends == 0 {
		delete(s.Uniq, digest)
		return
	}
	s.Uniq[digest] = h
}

// holder returns who holds a key now, and who stands there without holding it.
func (s *Space) holder(digest string) (holder, former string) {
	h := s.Uniq[digest]
	if h.Holder == "" {
		return "", ""
	}
	if h.Ends > 0 && h.Ends <= s.Now || h.Ends == 0 && s.stored(h.Holder) == nil {
		return "", h.Holder
	}
	return h.Holder, ""
}

// hold gives a key to a step: for a time, or while it is unfinished.
func (s *Space) hold(digest, id string, mark byte, ends int64) {
	s.Uniq[digest] = Hold{Holder: id, Ends: ends}
	s.Held[id] = string(mark) + digest
}

// wake tells the newest in line, unless the queue is paused. When the newest's
// registration has passed, all have.
func (s *Space) wake(queue string) {
	line := s.Lines[queue]
	if len(line) == 0 {
		return
	}
	newest := line[len(line)-1]
	if newest.Until < s.Now {
		delete(s.Lines, queue)
		return
	}
	if s.Paused[queue] {
		return
	}
	s.leave(queue, newest.Worker)
	s.Said = append(s.Said, "wake "+newest.Worker)
}

func (s *Space) leave(queue, worker string) {
	s.Lines[queue] = slices.DeleteFunc(s.Lines[queue], func(w Waiter) bool { return w.Worker == worker })
}

func (s *Space) stand(queue, worker string, until int64) {
	s.leave(queue, worker)
	s.Lines[queue] = append(s.Lines[queue], Waiter{worker, until})
	slices.SortFunc(s.Lines[queue], func(a, b Waiter) int {
		return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Worker, b.Worker))
	})
}
