package queue

import (
	"strings"

	"github.com/cyclone-queue/cyclone"
)

// hasListeners tells whether the process has listeners of its own, see
// [cyclone.WithOnStepEvent].
func (c *Client) hasListeners() bool { return len(c.onEvent) > 0 }

// emit passes an event to the process's own listeners, in its turn.
func (c *Client) emit(e cyclone.StepEvent) {
	if c.hasListeners() && !c.firsts.hold(e) {
		c.tell(e)
	}
}

// tell passes an event on at once.
func (c *Client) tell(e cyclone.StepEvent) {
	for _, fn := range c.onEvent {
		fn(e)
	}
}

// hear passes on what a script answers of the events that it has caused, as it
// publishes them for subscribers, at once. kind is that of the run which may have ended.
func (c *Client) hear(nowMS int64, lines string, details []byte, kind string) {
	if lines == "" || !c.hasListeners() {
		return
	}
	m := message{at: timeOf(nowMS)}
	described := decodeDetail(details)
	for line := range strings.SplitSeq(lines, "\n") {
		l, ok := parseEventLine(line)
		if !ok {
			continue
		}
		e, ok := m.event(&l, described)
		if !ok {
			continue
		}
		if e.Type == cyclone.EventFinished {
			e.Kind = kind
		}
		c.tell(e)
	}
}
