package queue

import (
	"context"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// dispatch passes a message's events to those who listen.
func (l *listener) dispatch(ctx context.Context, p *partition, text string) {
	m, ok := parseMessage(text)
	if !ok {
		return
	}
	var lines []eventLine
	for line := range strings.SplitSeq(m.lines, "\n") {
		if e, ok := parseEventLine(line); ok {
			lines = append(lines, e)
		}
	}
	l.wakeWaiters(lines)
	subs := l.subscribers()
	if len(subs) == 0 {
		return
	}
	details := decodeDetail(m.details)
	events := make([]cyclone.StepEvent, 0, len(lines))
	var unknown []unknownEvent
	for i := range lines {
		e, ok := m.event(&lines[i], details)
		if !ok {
			continue
		}
		if e.Kind == "" && e.Type != cyclone.EventDeleted && wanted(subs, &e) {
			unknown = append(unknown, unknownEvent{len(events), lines[i].id})
		}
		events = append(events, e)
	}
	p.complete(ctx, events, unknown)
	for i := range events {
		for _, s := range subs {
			if s.filter.matches(&events[i]) {
				s.push(events[i])
			}
		}
	}
}

func (l *listener) subscribers() []*Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	subs := make([]*Subscription, 0, len(l.subs))
	for s := range l.subs {
		subs = append(subs, s)
	}
	return subs
}

// wanted tells whether any subscription may want an event whose kind is unknown.
func wanted(subs []*Subscription, e *cyclone.StepEvent) bool {
	for _, s := range subs {
		if s.filter.mayMatch(e) {
			return true
		}
	}
	return false
}

// completeFor bounds the look-up of what a message does not tell.
const completeFor = 2 * time.Second

// unknownEvent is an event of which kind and node are not in the message.
type unknownEvent struct {
	at int    // among the message's events
	id string // of the step
}

// complete looks up kind, node and attempt of some events. Of steps that are gone
// meanwhile those of runs of many are found in the graphs of their runs; the others
// stay as they are.
func (p *partition) complete(ctx context.Context, events []cyclone.StepEvent, unknown []unknownEvent) {
	if len(unknown) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, completeFor)
	defer cancel()
	ids := make([]string, len(unknown))
	for i := range unknown {
		ids[i] = unknown[i].id
	}
	bodies, err := p.client.rdb.HMGet(ctx, p.keys.steps(), ids...).Result()
	if err != nil {
		return
	}
	gone := make(map[string][]unknownEvent) // by run
	for i := range unknown {
		body, ok := bodies[i].(string)
		var env Envelope
		if id, valid := parseStepID(unknown[i].id); !ok && valid && id.Node > 0 {
			gone[id.Run.String()] = append(gone[id.Run.String()], unknown[i])
		}
		if ok && env.Decode([]byte(body)) == nil {
			e := &events[unknown[i].at]
			e.Kind = env.Kind
			if e.Type != cyclone.EventFinished {
				e.Node, e.Attempt = env.Node, env.Failures+1
			}
		}
	}
	p.completeByGraph(ctx, events, gone)
}

// completeByGraph fills in kind and node of events whose steps are gone.
func (p *partition) completeByGraph(ctx context.Context, events []cyclone.StepEvent, gone map[string][]unknownEvent) {
	for run, unknown := range gone {
		body, err := p.client.rdb.HGet(ctx, p.keys.steps(), run).Bytes()
		var env Envelope
		if err != nil || env.Decode(body) != nil || env.Codec != codecGraph {
			continue
		}
		graph, err := graphOf(&env)
		if err != nil {
			continue
		}
		for _, u := range unknown {
			if id, _ := parseStepID(u.id); id.Node <= len(graph.Nodes) {
				n := &graph.Nodes[id.Node-1]
				events[u.at].Kind, events[u.at].Node = n.Kind, n.Name
			}
		}
	}
}

// wakeWaiters tells waiting calls of the end of their runs.
func (l *listener) wakeWaiters(lines []eventLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waits) == 0 {
		return
	}
	for i := range lines {
		for w := range l.waits[lines[i].id] {
			w.heard(cyclone.EventType(lines[i].verb))
		}
	}
}
