package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
)

// No index holds the runs that have not ended, but nearly all of them have a step
// that is in an index of its queue. So a walk over those steps finds the runs, and each run
// is listed where its first live step is: once, with nothing to remember between
// two pages.

const (
	// liveLooked is how many entries of an index one round trip reads.
	liveLooked = 500
	// firstLooked is how many steps before one are first asked whether they live.
	firstLooked = 32
)

// live lists runs that have not ended from where the cursor says. It returns the
// cursor to go on with, "" at the end.
func (l *runLister) live(ctx context.Context, cursor string) (next string, err error) {
	client := l.d.parts[0].client
	w, err := client.newWalk(ctx, cursor, "", unfinished...)
	if err != nil {
		return "", err
	}
	for range listTries {
		ok, err := w.advance(ctx)
		if err != nil || !ok {
			return "", err
		}
		if l.full() {
			break
		}
		before := w.at
		entries, more, err := w.fetch(ctx, liveLooked)
		if err != nil {
			return "", err
		}
		seen, err := l.visit(ctx, w.places[0], entries)
		if err != nil {
			return "", err
		}
		switch {
		case seen < len(entries): // the page is full
			w.at = before.after(entries[:seen])
		case !more:
			w.leave()
		}
	}
	if _, err := w.advance(ctx); err != nil {
		return "", err
	}
	return w.cursor(), nil
}

// after is the position behind entries that were read from here on.
func (at position) after(entries []entry) position {
	if n := len(entries); n > 0 {
		at.Offset += int64(n)
		at.Score, at.Member = entries[n-1].score, entries[n-1].member
	}
	return at
}

// nodeEntry is a step of a run of many in an index.
type nodeEntry struct {
	run  string
	node int
	at   int // in the entries
}

// visit adds the runs whose first live step is among the entries, and returns how
// many entries it has seen to: all, unless the page is full.
func (l *runLister) visit(ctx context.Context, here place, entries []entry) (seen int, err error) {
	p := l.d.parts[here.Part]
	steps, err := p.firstOfRuns(ctx, here, entries)
	if err != nil {
		return 0, err
	}
	for len(steps) > 0 {
		if l.full() {
			return steps[0].at, nil
		}
		n := min(len(steps), l.limit-len(l.found), runsLooked)
		if err := l.addLive(ctx, p, steps[:n]); err != nil {
			return 0, err
		}
		steps = steps[n:]
	}
	return len(entries), nil
}

// firstOfRuns returns for each run of many steps the first of its steps among the
// entries.
func (p *partition) firstOfRuns(ctx context.Context, here place, entries []entry) ([]nodeEntry, error) {
	var steps []nodeEntry
	var ids []string
	for i := range entries {
		if id, ok := parseStepID(entries[i].id); ok && id.Node > 0 {
			steps = append(steps, nodeEntry{run: id.Run.String(), node: id.Node - 1, at: i})
			ids = append(ids, entries[i].id)
		}
	}
	if len(steps) == 0 {
		return nil, nil
	}
	ghosts, err := p.client.rdb.HMGet(ctx, p.keys.ghosts(), ids...).Result()
	if err != nil {
		return nil, err
	}
	least := make(map[string]int)
	for i, s := range steps {
		if known, ok := least[s.run]; here.holds(ghosts[i]) && (!ok || s.node < known) {
			least[s.run] = s.node
		}
	}
	first := steps[:0]
	for _, s := range steps {
		if node, ok := least[s.run]; ok && node == s.node {
			first = append(first, s)
			delete(least, s.run)
		}
	}
	return first, nil
}

// addLive adds the runs of those steps before which no other one lives.
func (l *runLister) addLive(ctx context.Context, p *partition, steps []nodeEntry) error {
	var ids []string
	for _, s := range steps {
		first, err := p.isFirst(ctx, s)
		if err != nil {
			return err
		}
		if first {
			ids = append(ids, s.run)
		}
	}
	views, err := p.briefly(ctx, ids)
	if err != nil {
		return err
	}
	for _, v := range views {
		if v != nil && !v.state.Run.Ended() {
			l.add(v.summary())
		}
	}
	return nil
}

// isFirst tells whether no step before one lives: each has ended or is blocked. The
// nearest are asked first, since steps that start together end together.
func (p *partition) isFirst(ctx context.Context, s nodeEntry) (bool, error) {
	for to, n := s.node, firstLooked; to > 0; n = min(4*n, inputBatch/2) {
		from := max(to-n, 0)
		fields := make([]string, 0, 2*(to-from))
		for i := from; i < to; i++ {
			fields = append(fields, endedField(i), blockedField(i))
		}
		found, err := p.client.rdb.HMGet(ctx, p.keys.run(s.run), fields...).Result()
		if err != nil {
			return false, err
		}
		values := stringsOf(found)
		for k := 0; k < len(values); k += 2 {
			if values[k] == "" && values[k+1] == "" {
				return false, nil
			}
		}
		to = from
	}
	return true, nil
}

// briefly reads runs without the states of their nodes. One that is not there is
// nil.
func (p *partition) briefly(ctx context.Context, ids []string) ([]*runView, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	pipe := p.client.rdb.Pipeline()
	bodies := pipe.HMGet(ctx, p.keys.steps(), ids...)
	fields := make([]*redis.SliceCmd, len(ids))
	for i, id := range ids {
		fields[i] = pipe.HMGet(ctx, p.keys.run(id), runFields...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	texts := stringsOf(bodies.Val())
	views := make([]*runView, len(ids))
	for i, text := range ids {
		values := stringsOf(fields[i].Val())
		id, err := cyclone.ParseRunID(text)
		if err != nil || texts[i] == "" || values[0] == "" {
			continue
		}
		v := &runView{p: p, id: id, text: text}
		switch err := v.read([]byte(texts[i]), values); {
		case err == nil:
			views[i] = v
		case !errors.Is(err, errNoRun):
			views[i] = v.unreadable(values)
		}
	}
	return views, nil
}

// unreadable is a run whose graph this program cannot read: an operator must be able
// to see and delete it.
func (v *runView) unreadable(values []string) *runView {
	v.env, v.graph = &Envelope{Kind: unreadableKind}, &dag.Graph{}
	v.state.Run = dag.RunMark(values[0][0])
	v.finMS = parseScore(values[3])
	return v
}
