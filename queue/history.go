package queue

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// events merges what the lease's holders wrote into the envelope with what others
// wrote beside it, in the order of time.
func (s *stored) events() []HistoryEntry {
	var all []HistoryEntry
	for i := range s.env.History {
		r := &s.env.History[i]
		all = append(all, HistoryEntry{
			At: timeOrZero(r.At), Type: cyclone.EventType(r.Type.String()), Attempt: r.Attempt, Error: r.Error, Code: r.Code,
			Stack: r.Stack, Worker: r.Worker, Delay: time.Duration(r.DelayMs) * time.Millisecond,
		})
	}
	for line := range strings.Lines(s.history) {
		if e, ok := parseNote(strings.TrimSuffix(line, "\n")); ok {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b HistoryEntry) int { return a.At.Compare(b.At) })
	return all
}

// The lines of the history hash are
//
//	<ms> lost started|unstarted <token>
//	<ms> retried <additional attempts> "<reason>"
const (
	noteLost    = "lost"
	noteRetried = "retried"
	noteStarted = "started"
)

// retryNote is the line of an operator's retry, without the time.
func retryNote(r *wire.Reopen) string {
	return noteRetried + " " + strconv.Itoa(r.Attempts()) + " " + strconv.Quote(r.Reason)
}

// parseNote reads one line; ok is false for one that no version has written.
func parseNote(line string) (e HistoryEntry, ok bool) {
	at, rest, _ := strings.Cut(line, " ")
	verb, rest, _ := strings.Cut(rest, " ")
	first, rest, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return e, false
	}
	e.At = timeOf(ms)
	switch verb {
	case noteLost:
		e.Type, e.Started, e.Worker = cyclone.EventLost, first == noteStarted, workerOf(rest)
		return e, true
	case noteRetried:
		e.Type = cyclone.EventRetried
		e.Additional, _ = strconv.Atoi(first)
		e.Reason, err = strconv.Unquote(rest)
		return e, err == nil
	}
	return e, false
}
