package luascripts

// The operators' scripts: each handles steps of one queue.
var (
	Cancel     = load("cancel")
	Revive     = load("revive")
	Delete     = load("delete")
	Reschedule = load("reschedule")
	Purge      = load("purge")
	Pause      = load("pause")
	State      = load("state")
)

// CancelKeys are the keys of Cancel.
type CancelKeys struct {
	Steps, Sess, Ghosts, Uniq, UniqOf, Stats, Subs                         string
	Scheduled, Retrying, Snoozed, Waiting, Completed, Discarded, Cancelled string
}

// CancelCall fills c.
func CancelCall(c *Call, k *CancelKeys, s Session, ch Channels, queue string, detail []byte, ids []string) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Uniq, k.UniqOf, k.Stats, k.Subs,
		k.Scheduled, k.Retrying, k.Snoozed, k.Waiting, k.Completed, k.Discarded, k.Cancelled)
	c.arg(s.Lane, s.Seq, ch.Events, ch.Cancels, queue, detail)
	for _, id := range ids {
		c.arg(id)
	}
}

// DeleteKeys are the keys of Delete.
type DeleteKeys struct {
	Steps, Sess, Ghosts, Tries, Uniq, UniqOf, Results, History, Stats, Subs, Sweep string
	Scheduled, Retrying, Snoozed, Waiting, Completed, Discarded, Cancelled         string
}

// DeleteCall fills c.
func DeleteCall(c *Call, k *DeleteKeys, s Session, ch Channels, queue string, detail []byte, ids []string) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Tries, k.Uniq, k.UniqOf, k.Results, k.History, k.Stats, k.Subs, k.Sweep,
		k.Scheduled, k.Retrying, k.Snoozed, k.Waiting, k.Completed, k.Discarded, k.Cancelled)
	c.arg(s.Lane, s.Seq, ch.Events, ch.Cancels, queue, detail)
	for _, id := range ids {
		c.arg(id)
	}
}

// ReviveKeys are the keys of Revive.
type ReviveKeys struct {
	Steps, Sess, Ghosts, Tries, Uniq, UniqOf, UniqX, History, Stats, Subs, Paused string
	Waiters, Ready, Discarded, Cancelled                                          string
}

// ReviveStep is one step to open again.
type ReviveStep struct {
	ID     string
	Limit  int    // absolute attempt limit, 0 to leave it
	Digest string // of a key that it holds while unfinished, "" for none
	Note   string // its line in the history, without the time
}

// ReviveCall fills c.
func ReviveCall(c *Call, k *ReviveKeys, s Session, ch Channels, partition int, queue string, detail []byte, steps []ReviveStep) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Tries, k.Uniq, k.UniqOf, k.UniqX, k.History, k.Stats, k.Subs, k.Paused,
		k.Waiters, k.Ready, k.Discarded, k.Cancelled)
	c.arg(s.Lane, s.Seq, ch.Events, ch.Wake, partition, queue, detail)
	for _, st := range steps {
		c.arg(st.ID, st.Limit, st.Digest, st.Note)
	}
}

// Outcomes returns what Cancel, Delete or Revive answered for each step.
func Outcomes(reply []any) []string { return texts(list(reply, 2)) }

// RescheduleKeys are the keys of Reschedule; Journal is the step's.
type RescheduleKeys struct {
	Steps, Sess, Subs, Paused, Waiters, Ready, Scheduled, Retrying, Snoozed, Waiting, Journal string
}

// RescheduleStep is the step that gets another time.
type RescheduleStep struct {
	ID    string
	Lane  int
	Due   string // in ms, or "" for now
	Seen  string // the time in ms that it is expected to wait for, or "" for any
	Times []RescheduleTime
}

// RescheduleTime is an entry of a journal that moves along.
type RescheduleTime struct{ Field, Seen, To string }

// RescheduleCall fills c.
func RescheduleCall(c *Call, k *RescheduleKeys, s Session, ch Channels, partition int, queue string, detail []byte, step *RescheduleStep) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Subs, k.Paused, k.Waiters, k.Ready, k.Scheduled, k.Retrying, k.Snoozed, k.Waiting, k.Journal)
	c.arg(s.Lane, s.Seq, ch.Events, ch.Wake, partition, queue, detail, step.ID, step.Lane, step.Due, step.Seen)
	for _, t := range step.Times {
		c.arg(t.Field, t.Seen, t.To)
	}
}

// RescheduleReply returns the state that the step was found in, or [Moved].
func RescheduleReply(reply []any) string { return text(reply, 2) }

// PurgeKeys are the keys of Purge; Index is the one to empty.
type PurgeKeys struct {
	Steps, Sess, Ghosts, Tries, Uniq, UniqOf, Results, History, Stats, Subs, Sweep, Index string
}

// PurgeCall fills c. What is not among ids stays.
func PurgeCall(c *Call, k *PurgeKeys, s Session, ch Channels, queue string, list, listens bool, detail []byte, ids []string) {
	c.Keys = append(c.Keys, k.Steps, k.Sess, k.Ghosts, k.Tries, k.Uniq, k.UniqOf, k.Results, k.History, k.Stats, k.Subs, k.Sweep, k.Index)
	kind := "zset"
	if list {
		kind = "list"
	}
	c.arg(s.Lane, s.Seq, ch.Events, queue, kind, listens, detail)
	for _, id := range ids {
		c.arg(id)
	}
}

// PurgeReply returns how many ids left the index, how many steps are deleted, and the
// lines of the events where somebody listens.
func PurgeReply(reply []any) (taken, deleted int, lines string) {
	return int(integer(reply, 2)), int(integer(reply, 3)), text(reply, 4)
}

// PauseKeys are the keys of Pause.
type PauseKeys struct{ Sess, Paused, Waiters string }

// PauseCall fills c.
func PauseCall(c *Call, k PauseKeys, s Session, ch Channels, partition int, queue string, pause bool) {
	c.Keys = append(c.Keys, k.Sess, k.Paused, k.Waiters)
	c.arg(s.Lane, s.Seq, queue, pause, ch.Wake, partition)
}

// PauseReply tells whether the queue was paused before.
func PauseReply(reply []any) bool { return integer(reply, 2) == 1 }

// StateKeys are the keys of State.
type StateKeys struct {
	Steps, Ghosts, Tries, Results, History                                 string
	Scheduled, Retrying, Snoozed, Waiting, Completed, Discarded, Cancelled string
}

// StateCall fills c.
func StateCall(c *Call, k *StateKeys, id string) {
	c.Keys = append(c.Keys, k.Steps, k.Ghosts, k.Tries, k.Results, k.History,
		k.Scheduled, k.Retrying, k.Snoozed, k.Waiting, k.Completed, k.Discarded, k.Cancelled)
	c.arg(id)
}

// States that are no index: Live is ready or running, Absent is no step, and Moved is
// one that waits for another time than the caller has seen.
const (
	Live   = "live"
	Absent = "absent"
	Moved  = "moved"
)

// StateReply is all that is known of one step. State is the name of its index,
// [Live] or [Absent].
type StateReply struct {
	State, Score, Body, Ghost, Counters, Result, History string
}

// ParseState reads a reply.
func ParseState(reply []any) StateReply {
	return StateReply{
		State: text(reply, 1), Score: text(reply, 2), Body: text(reply, 3), Ghost: text(reply, 4),
		Counters: text(reply, 5), Result: text(reply, 6), History: text(reply, 7),
	}
}
