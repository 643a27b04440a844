package model

import (
	"slices"
	"strings"
)

// before is what the operators' scripts call a state.
func (s *Space) before(id string) string {
	e := s.stored(id)
	switch {
	case e == nil:
		return "absent"
	case e.State.Live():
		return "live"
	}
	return e.State.String()
}

// Cancel ends steps for good.
func (s *Space) Cancel(ids []string) (before []string) {
	var live []string
	for _, id := range ids {
		was := s.before(id)
		before = append(before, was)
		if was == "absent" || !s.Steps[id].Cancel() {
			continue
		}
		s.Steps[id].At = s.Now
		s.free(id, true)
		if was == "live" {
			live = append(live, id)
		}
	}
	s.tell(live)
	return before
}

// Delete removes steps with all that is kept of them.
func (s *Space) Delete(ids []string) (before []string) {
	var live []string
	for _, id := range ids {
		was := s.before(id)
		before = append(before, was)
		if was == "absent" {
			continue
		}
		s.remove(s.Steps[id], true)
		if was == "live" {
			live = append(live, id)
		}
	}
	s.tell(live)
	return before
}

func (s *Space) tell(live []string) {
	if len(live) > 0 {
		s.Said = append(s.Said, "cancel "+strings.Join(live, " "))
	}
}

// remove deletes a step, or trims it.
func (s *Space) remove(e *Entry, byOperator bool) {
	e.Step.Delete()
	s.free(e.ID, byOperator)
	s.forget(e.ID, true)
	s.settled(e)
}

// Reopen is one step to open again.
type Reopen struct {
	ID     string
	Limit  int
	Digest string
}

// Revive opens ended steps again.
func (s *Space) Revive(queue string, list []Reopen) (outcome []string) {
	revived := false
	for _, r := range list {
		o := s.revive(r)
		revived = revived || o == "revived"
		outcome = append(outcome, o)
	}
	if revived {
		s.wake(queue)
	}
	return outcome
}

func (s *Space) revive(r Reopen) string {
	e := s.stored(r.ID)
	switch {
	case e == nil:
		return "absent"
	case e.State != Discarded && e.State != Cancelled:
		return "ended"
	}
	if r.Digest != "" {
		holder, former := s.holder(r.Digest)
		if holder != "" && holder != r.ID {
			return "conflict=" + holder
		}
		delete(s.Held, former)
		s.hold(r.Digest, r.ID, 's', 0)
	}
	e.Step.Revive(r.Limit)
	s.Notes[r.ID]++
	if e.Left == Nothing {
		s.last(e)
	}
	return "revived"
}

// Reschedule gives a waiting step another time, 0 for now.
func (s *Space) Reschedule(id string, due int64) string {
	was := s.before(id)
	if e := s.stored(id); e != nil && e.Step.Reschedule(due) {
		if e.State == Ready {
			s.last(e)
		}
		s.wake(e.Queue)
	}
	return was
}

// Pause stops the claims of a queue, or lets them go on, and tells whether they
// had been stopped.
func (s *Space) Pause(queue string, pause bool) bool {
	was := s.Paused[queue]
	if pause {
		s.Paused[queue] = true
		return was
	}
	delete(s.Paused, queue)
	s.wake(queue)
	return was
}

// PurgeReady deletes what is ready in a lane, at most limit entries.
func (s *Space) PurgeReady(queue string, lane int8, limit int) (taken, deleted int) {
	list := s.Ready(queue, lane)
	for _, e := range list[:min(limit, len(list))] {
		taken++
		if e.State == Ready {
			deleted++
			e.Left = Nothing
			e.State = Absent
			s.free(e.ID, true)
			s.forget(e.ID, true)
		}
		e.Left = Nothing
		s.dropBody(e)
	}
	return taken, deleted
}

// dropBody removes an entry that has no body any more; one that was cancelled is
// still kept for its time.
func (s *Space) dropBody(e *Entry) { s.settled(e) }

// PurgeIndex deletes what is in a sorted index, at most limit steps.
func (s *Space) PurgeIndex(queue string, state State, limit int) (taken int) {
	list := s.In(queue, state)
	for _, e := range list[:min(limit, len(list))] {
		s.remove(e, true)
		taken++
	}
	return taken
}

// Trim removes ended steps whose score is more than age ago, or the oldest beyond
// keep when those are more.
func (s *Space) Trim(queue string, state State, age int64, keep, limit int) int {
	list := s.In(queue, state)
	n := 0
	for n < len(list) && n < limit && list[n].At <= s.Now-age {
		n++
	}
	if over := len(list) - keep; over > n {
		n = min(over, limit)
	}
	for _, e := range list[:n] {
		s.remove(e, false)
	}
	return n
}

// Clamp ends leases that go on for longer than lease.
func (s *Space) Clamp(queue string, lease int64, limit int) (n int) {
	latest := s.Now + lease
	list := slices.DeleteFunc(s.Leased(queue), func(e *Entry) bool { return e.Lease.Until <= latest })
	for _, e := range list[:min(limit, len(list))] {
		e.Step.Clamp(latest)
		n++
	}
	return n
}

// Tidy frees the keys whose time has passed.
func (s *Space) Tidy() (n int) {
	for digest, h := range s.Uniq {
		if h.Ends > 0 && h.Ends <= s.Now {
			delete(s.Held, h.Holder)
			delete(s.Uniq, digest)
			n++
		}
	}
	return n
}
