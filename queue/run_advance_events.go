package queue

import (
	"context"
	"strings"

	"github.com/cyclone-queue/cyclone"
)

// expect looks up the names of the runs whose nodes end, and holds the events of the
// nodes that may start, until what it returns is called. It does nothing unless somebody
// listens.
func (a *advance) expect(ctx context.Context, from, to int) (release func()) {
	c := a.p.client
	if !c.hasListeners() {
		return func() {}
	}
	var runs []cyclone.RunID
	var starts []starter
	for _, i := range a.order[from:to] {
		st := &a.settle[i]
		if st.Claim.Step.Node > 0 {
			runs = append(runs, st.Claim.ID)
		}
		if tx := st.rest.tx; !tx.Empty() {
			for k := range tx.Runs {
				run := cyclone.RunID(tx.Runs[k].ID)
				runs, starts = append(runs, run), append(starts, starter{run: run})
			}
		}
	}
	if len(runs) == 0 {
		return func() {}
	}
	a.names = c.known.find(ctx, a.p, runs)
	for _, i := range a.order[from:to] {
		starts = append(starts, a.starters(a.settle[i].Claim)...)
	}
	c.firsts.expect(starts)
	return func() { c.firsts.release(starts, c.tell) }
}

// starters are the nodes that the end of a node may let start.
func (a *advance) starters(c *Claimed) (starts []starter) {
	if c.Step.Node == 0 || c.Envelope == nil || c.Envelope.Part == nil {
		return nil
	}
	for i := range c.Envelope.Part.Children {
		if name := a.names[c.ID].of(c.Envelope.Part.Children[i].Index); name.node != "" {
			starts = append(starts, starter{c.ID, name.node})
		}
	}
	return starts
}

// tell passes on the events that the ends have brought about: of nodes that may start,
// of follow-ups, and of runs that have ended.
func (a *advance) tell(lines string) {
	if lines == "" {
		return
	}
	m, details := message{at: a.reply.Now}, decodeDetail(a.input.Detail)
	for line := range strings.SplitSeq(lines, "\n") {
		l, ok := parseEventLine(line)
		if !ok {
			continue
		}
		e, ok := m.event(&l, details)
		if !ok {
			continue
		}
		id, _ := parseStepID(l.id)
		switch names := a.names[id.Run]; {
		case e.Type == cyclone.EventFinished:
			if names != nil {
				e.Kind = names.kind
			}
		case id.Node > 0:
			name := names.of(id.Node - 1)
			e.Kind, e.Node, e.Attempt = name.kind, name.node, 1
		}
		a.p.client.tell(e)
	}
}
