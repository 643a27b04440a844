package queue

import (
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
)

// message is what a script publishes about its transitions:
//
//	<now ms>[ <worker>]
//	<verb> <queue> <id> <index into the details, or -> <due ms, or 0>[ <token of the lease concerned>]
//	…
//	<empty line>
//	<details>
type message struct {
	at      time.Time
	worker  string
	lines   string
	details []byte
}

func parseMessage(text string) (m message, ok bool) {
	head, details, ok := strings.Cut(text, "\n\n")
	if !ok {
		return m, false
	}
	first, lines, ok := strings.Cut(head, "\n")
	if !ok {
		return m, false
	}
	now, worker, _ := strings.Cut(first, " ")
	ms, err := strconv.ParseInt(now, 10, 64)
	if err != nil {
		return m, false
	}
	return message{at: timeOf(ms), worker: worker, lines: lines, details: []byte(details)}, true
}

// eventLine is one transition in a message.
type eventLine struct {
	verb, queue, id string
	detail          int // -1 for none
	due             int64
	token           string
}

func parseEventLine(line string) (l eventLine, ok bool) {
	var index, due string
	var rest string
	l.verb, rest, _ = strings.Cut(line, " ")
	l.queue, rest, _ = strings.Cut(rest, " ")
	l.id, rest, _ = strings.Cut(rest, " ")
	index, rest, _ = strings.Cut(rest, " ")
	due, l.token, _ = strings.Cut(rest, " ")
	var err error
	if l.due, err = strconv.ParseInt(due, 10, 64); err != nil {
		return l, false
	}
	l.detail = -1
	if index != "-" {
		if l.detail, err = strconv.Atoi(index); err != nil || l.detail < 0 {
			return l, false
		}
	}
	return l, true
}

// event is the transition as users see it, as far as the message tells.
func (m *message) event(l *eventLine, details []detailItem) (e cyclone.StepEvent, ok bool) {
	id, ok := parseStepID(l.id)
	if !ok {
		return e, false
	}
	e = cyclone.StepEvent{RunID: id.Run, Queue: l.queue, At: m.at, Worker: m.worker, DueAt: timeOrZero(l.due)}
	if l.verb == string(cyclone.EventFinished) {
		return finished(e, l.token)
	}
	if l.token != "" {
		e.Worker = workerOf(l.token)
	}
	if l.detail >= 0 && l.detail < len(details) {
		d := &details[l.detail]
		e.Kind, e.Node, e.Attempt, e.Code, e.Error = d.kind, d.node, d.attempt, d.code, d.text
	}
	e.Type, e.State, ok = meaningOf(l.verb, l.due > 0, e.Code)
	return e, ok
}

// finished is the event of a run of many steps that has ended, by its mark.
func finished(e cyclone.StepEvent, mark string) (cyclone.StepEvent, bool) {
	e.Type, e.Queue, e.Worker = cyclone.EventFinished, "", ""
	switch dag.RunMark((mark + " ")[0]) {
	case dag.RunCompleted:
		e.State = cyclone.StepCompleted
	case dag.RunFailed:
		e.State = cyclone.StepExhausted
	case dag.RunCancelled:
		e.State = cyclone.StepCancelled
	default:
		return e, false
	}
	return e, true
}

// meaningOf returns the event and the new state that a verb stands for. waits
// tells whether there is a due time.
func meaningOf(verb string, waits bool, code string) (cyclone.EventType, cyclone.StepState, bool) {
	event := cyclone.EventType(verb)
	state := cyclone.StepReady
	switch event {
	case cyclone.EventEnqueued, cyclone.EventReleased:
		if waits {
			state = cyclone.StepScheduled
		}
	case cyclone.EventLost:
		if waits {
			state = cyclone.StepRetrying
		}
	case cyclone.EventClaimed:
		state = cyclone.StepRunning
	case cyclone.EventCompleted:
		state = cyclone.StepCompleted
	case cyclone.EventFailed:
		state = cyclone.StepRetrying
	case cyclone.EventSnoozed:
		state = cyclone.StepSnoozed
	case cyclone.EventSuspended:
		state = cyclone.StepWaiting
	case cyclone.EventDiscarded:
		event, state = discardEvent(code), cyclone.StepExhausted
	case cyclone.EventCancelled:
		state = cyclone.StepCancelled
	case cyclone.EventRescheduled:
		state = cyclone.StepScheduled
	case cyclone.EventDeleted:
		state = ""
	case cyclone.EventRetried, cyclone.EventPromoted:
	default:
		return "", "", false
	}
	return event, state, true
}
