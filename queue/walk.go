package queue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// errCursor is returned for a cursor that no page has had.
var errCursor = errors.New("queue: not a cursor")

// walk visits the steps of some queues and states in order, a bounded number at a
// time.
type walk struct {
	d        *deployment
	queues   []queueParts // still to visit
	states   []cyclone.StepState
	places   []place // of the queue under visit, still to visit
	probed   int     // of places, those known to hold something
	at       position
	fromHead bool
}

// newWalk starts a walk of one queue or all (""), or goes on where the cursor says.
func (c *Client) newWalk(ctx context.Context, cursor, queue string, states ...cyclone.StepState) (*walk, error) {
	d, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	w := &walk{d: d, states: states, queues: []queueParts{d.everywhere(queue)}}
	if queue == "" {
		if w.queues, err = d.queues(ctx); err != nil {
			return nil, err
		}
	}
	if cursor != "" {
		err = w.resume(cursor)
	}
	return w, err
}

// resume drops what was visited before the cursor.
func (w *walk) resume(cursor string) error {
	here, at, err := parseCursor(cursor)
	if err != nil {
		return err
	}
	for len(w.queues) > 0 && w.queues[0].name < here.Queue {
		w.queues = w.queues[1:]
	}
	if len(w.queues) == 0 || w.queues[0].name != here.Queue {
		return nil
	}
	w.places = places(w.queues[0], w.states)
	w.queues = w.queues[1:]
	i, found := slices.BinarySearchFunc(w.places, here, place.compare)
	if w.places = w.places[i:]; found {
		w.at = at
	}
	return nil
}

// probe is how many places one round trip asks whether they hold anything.
const probe = 256

// advance goes to the next place that holds something; false at the end.
func (w *walk) advance(ctx context.Context) (bool, error) {
	for w.probed == 0 {
		if len(w.places) == 0 {
			if len(w.queues) == 0 {
				return false, nil
			}
			w.places = places(w.queues[0], w.states)
			w.queues = w.queues[1:]
			continue
		}
		n := min(probe, len(w.places))
		first := w.places[0]
		kept, err := w.d.occupied(ctx, w.places[:n])
		if err != nil {
			return false, err
		}
		if len(kept) == 0 || kept[0] != first {
			w.at = position{}
		}
		w.places, w.probed = append(kept, w.places[n:]...), len(kept)
	}
	return true, nil
}

// next returns up to n steps of one place, fewer or none when some are gone; done
// at the end.
func (w *walk) next(ctx context.Context, n int) (steps []*stored, done bool, err error) {
	if ok, err := w.advance(ctx); err != nil || !ok {
		return nil, true, err
	}
	here := w.places[0]
	entries, more, err := w.fetch(ctx, n)
	if err != nil {
		return nil, false, err
	}
	if steps, err = w.d.load(ctx, here, entries); err != nil {
		return nil, false, err
	}
	if !more {
		w.leave()
	}
	return steps, false, nil
}

// fetch reads up to n entries of the place under visit and moves behind them.
func (w *walk) fetch(ctx context.Context, n int) (entries []entry, more bool, err error) {
	rdb := w.d.parts[0].client.rdb
	key, list := w.d.key(w.places[0])
	if list {
		return fetchList(ctx, rdb, key, &w.at, int64(n), w.fromHead)
	}
	return fetchSet(ctx, rdb, key, &w.at, int64(n), newestFirst(w.places[0].State))
}

// leave ends the visit of a place.
func (w *walk) leave() { w.places, w.probed, w.at = w.places[1:], w.probed-1, position{} }

// load reads what is kept of the entries; those whose ghosts or missing bodies say
// that they are not in this place after all are left out.
func (d *deployment) load(ctx context.Context, here place, entries []entry) ([]*stored, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	p := d.parts[here.Part]
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].id
	}
	pipe := p.client.rdb.Pipeline()
	bodies := pipe.HMGet(ctx, p.keys.steps(), ids...)
	ghosts := pipe.HMGet(ctx, p.keys.ghosts(), ids...)
	tries := pipe.HMGet(ctx, p.keys.tries(), ids...)
	var results *redis.SliceCmd
	if here.State == cyclone.StepCompleted {
		results = pipe.HMGet(ctx, p.keys.results(), ids...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var steps []*stored
	for i, e := range entries {
		body, ok := bodies.Val()[i].(string)
		if !ok || !here.holds(ghosts.Val()[i]) {
			continue
		}
		id, ok := parseStepID(e.id)
		if !ok {
			continue
		}
		s := &stored{id: id.Run, text: e.id, part: p, queue: here.Queue, state: here.State, score: e.score}
		s.setBody(body)
		if text, ok := tries.Val()[i].(string); ok {
			s.counters = parseCounters(text)
		}
		if results != nil {
			text, _ := results.Val()[i].(string)
			s.setResult(text)
		}
		if here.State == cyclone.StepRunning {
			s.worker = holderOf(e.member)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// holds tells whether an id with the given ghost, nil for none, is in this place's
// state.
func (p place) holds(ghost any) bool {
	value, _ := ghost.(string)
	mark, _ := cutMark(value)
	switch {
	case p.State == cyclone.StepReady && p.Lane == laneReopened:
		return mark == ghostRevived
	case p.State == cyclone.StepReady:
		return mark != ghostDropped
	case p.State == cyclone.StepRunning:
		return mark == ""
	}
	return true
}

// cursor names where the walk is, "" at its end. It is exact after advance.
func (w *walk) cursor() string {
	if len(w.places) == 0 {
		return ""
	}
	text, err := json.Marshal(savedCursor{w.places[0], w.at})
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

type savedCursor struct {
	Place place
	At    position
}

func parseCursor(text string) (place, position, error) {
	var c savedCursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.At.Offset < 0 || c.At.Offset > maxStoredInt || !wire.ValidName(c.Place.Queue) || !slices.Contains(visited, c.Place.State) {
		return place{}, position{}, errCursor
	}
	return c.Place, c.At, nil
}
