package queue

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// RunQuery says which runs to list.
type RunQuery struct {
	// State and Name narrow the list; empty means all. Name is that of the workflow.
	State cyclone.RunState
	Name  string
	// Cursor is where to go on: Next of the page before.
	Cursor string
	// Limit is the most runs of the page, default and at most [MaxPage].
	Limit int
}

// RunSummary is a run of many steps in short.
type RunSummary struct {
	ID    cyclone.RunID
	State cyclone.RunState
	// Name is the name of the workflow.
	Name string
	// EnqueuedAt is when the run was enqueued, FinishedAt when it ended, zero when it
	// has not.
	EnqueuedAt, FinishedAt time.Time
	// Steps is the number of its steps, Left of those that have not ended.
	Steps, Left int
}

// RunPage is one page of a list of runs.
type RunPage struct {
	Runs []RunSummary
	// Next is the cursor of the next page, "" after the last one.
	Next string
}

// ListRuns returns a page of runs of many steps: first those that have not ended,
// the latest of a page first, and then partition by partition those that have,
// first those that are kept for longest. Runs of one step are not among them: see
// [Client.List].
//
// A page may hold fewer runs than asked for, or none, and still have a next one.
// Runs whose steps change their states between two pages can be missed or come
// twice.
func (c *Client) ListRuns(ctx context.Context, q RunQuery) (RunPage, error) {
	page, err := c.listRuns(ctx, &q)
	if err != nil {
		return RunPage{}, fmt.Errorf("queue: list runs: %w", err)
	}
	return page, nil
}

func (c *Client) listRuns(ctx context.Context, q *RunQuery) (RunPage, error) {
	if q.State != "" && q.State != cyclone.RunRunning && !q.State.Finished() {
		return RunPage{}, fmt.Errorf("there is no state %.40q", q.State)
	}
	if q.Name != "" && !wire.ValidName(q.Name) {
		return RunPage{}, fmt.Errorf("name %.80q %s", q.Name, wire.NameRule)
	}
	l := runLister{query: q, limit: q.Limit}
	if l.limit <= 0 || l.limit > MaxPage {
		l.limit = MaxPage
	}
	var err error
	if l.d, err = c.open(ctx); err != nil {
		return RunPage{}, err
	}
	cursor, err := parseRunCursor(q.Cursor, len(l.d.parts))
	if err != nil {
		return RunPage{}, err
	}
	if q.State.Finished() && cursor.Phase < phaseEnded {
		cursor = runCursor{Phase: phaseEnded}
	}
	for more := false; !more; cursor = (runCursor{Phase: cursor.Phase + 1}) {
		if cursor.Phase > phaseEnded || cursor.Phase == phaseEnded && q.State == cyclone.RunRunning {
			return RunPage{Runs: l.found}, nil
		}
		if more, err = l.phase(ctx, &cursor); err != nil {
			return RunPage{}, err
		}
		if more {
			return l.page(cursor)
		}
	}
	return RunPage{Runs: l.found}, nil
}

// The phases of a list, in order: runs that have a step in an index, runs whose
// next steps only the sweep knows, and runs that have ended.
const (
	phaseLive = iota
	phaseSwept
	phaseEnded
)

// runCursor is where a list of runs stopped: in a walk over steps, or in a sorted
// set of a partition.
type runCursor struct {
	Phase int
	Walk  string `json:",omitempty"`
	Part  int
	At    position
}

// phase lists runs of one phase, and tells whether there may be more.
func (l *runLister) phase(ctx context.Context, c *runCursor) (more bool, err error) {
	switch c.Phase {
	case phaseLive:
		c.Walk, err = l.live(ctx, c.Walk)
		slices.SortFunc(l.found, func(a, b RunSummary) int { return cmp.Compare(b.ID, a.ID) })
		return c.Walk != "", err
	case phaseSwept:
		return l.through(ctx, c, (*partitionKeys).sweep, false, l.addSwept)
	default:
		return l.through(ctx, c, (*partitionKeys).runs, true, l.addEnded)
	}
}

func parseRunCursor(text string, partitions int) (c runCursor, err error) {
	if text == "" {
		return c, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.Phase < phaseLive || c.Phase > phaseEnded || c.Part < 0 || c.Part >= partitions {
		return c, errCursor
	}
	return c, nil
}

// runLister collects one page of runs.
type runLister struct {
	d     *deployment
	query *RunQuery
	limit int
	found []RunSummary
}

func (l *runLister) full() bool { return len(l.found) >= l.limit }

func (l *runLister) page(next runCursor) (RunPage, error) {
	text, err := json.Marshal(next)
	return RunPage{Runs: l.found, Next: base64.RawURLEncoding.EncodeToString(text)}, err
}

// add puts a run on the page if it is wanted.
func (l *runLister) add(s RunSummary) {
	if (l.query.State == "" || l.query.State == s.State) && (l.query.Name == "" || l.query.Name == s.Name) {
		l.found = append(l.found, s)
	}
}

// runsLooked is how many runs one round trip reads: with each of them comes its
// graph.
const runsLooked = 20

// through lists the runs of a sorted set of each partition, and tells whether there
// may be more.
func (l *runLister) through(ctx context.Context, c *runCursor, key func(*partitionKeys) string, reverse bool, add func(context.Context, *partition, []entry) error) (more bool, err error) {
	for range listTries {
		if c.Part == len(l.d.parts) {
			return false, nil
		}
		if l.full() {
			break
		}
		p := l.d.parts[c.Part]
		n := min(l.limit-len(l.found), runsLooked)
		entries, more, err := fetchSet(ctx, p.client.rdb, key(p.keys), &c.At, int64(n), reverse)
		if err == nil {
			err = add(ctx, p, entries)
		}
		if err != nil {
			return false, err
		}
		if !more {
			c.Part, c.At = c.Part+1, position{}
		}
	}
	return c.Part < len(l.d.parts), nil
}

// addSwept adds runs that have not ended and of which no step lives: those that do
// have one were found by it.
func (l *runLister) addSwept(ctx context.Context, p *partition, entries []entry) error {
	var ids []string
	for _, e := range entries {
		if id, ok := parseStepID(e.member); ok && id.Node == 0 {
			ids = append(ids, e.member)
		}
	}
	views, err := p.briefly(ctx, ids)
	if err != nil {
		return err
	}
	for _, v := range views {
		if v == nil || v.state.Run.Ended() {
			continue
		}
		none, err := p.isFirst(ctx, nodeEntry{run: v.text, node: len(v.graph.Nodes)})
		if err != nil {
			return err
		}
		if none {
			l.add(v.summary())
		}
	}
	return nil
}

func (l *runLister) addEnded(ctx context.Context, p *partition, entries []entry) error {
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].id
	}
	views, err := p.briefly(ctx, ids)
	if err != nil {
		return err
	}
	for _, v := range views {
		if v != nil && v.state.Run.Ended() { // else it was opened again, or forgotten
			l.add(v.summary())
		}
	}
	return nil
}

// summary is the run in short.
func (v *runView) summary() RunSummary {
	i := v.info()
	return RunSummary{
		ID: i.ID, State: i.State, Name: i.Name, EnqueuedAt: i.EnqueuedAt, FinishedAt: i.FinishedAt,
		Steps: len(v.graph.Nodes), Left: v.left,
	}
}
