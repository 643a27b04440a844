package cli

import (
	"context"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// stepLister lists the steps that a filter chooses, page by page.
type stepLister struct {
	p      *program
	filter queue.Filter
	limit  int // 0 for none
	n      int
	next   string // the cursor where it stopped, "" at the end
	table  []cyclone.StepInfo
}

// run reads pages that are no larger than what is wanted, so that a cursor is
// always at the end of what was printed.
func (l *stepLister) run(ctx context.Context, client *queue.Client) error {
	bar := l.p.progress()
	defer bar.done()
	q := queue.ListQuery{Queue: l.filter.Queue, State: l.filter.State, Cursor: l.filter.Cursor}
	seen := 0
	for {
		if q.Limit = queue.MaxPage; l.limit > 0 {
			q.Limit = min(l.limit-l.n, queue.MaxPage)
		}
		page, err := client.List(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range page.Steps {
			if matches(&l.filter, s) {
				l.print(s)
			}
		}
		seen += len(page.Steps)
		if l.limit > 0 && l.n >= l.limit || page.Next == "" {
			l.next = page.Next
			break
		}
		q.Cursor = page.Next
		bar.tell("looked at %d steps, %d match", seen, l.n)
		if len(l.table) >= queue.MaxPage {
			bar.done()
			l.flush()
		}
	}
	bar.done()
	l.flush()
	return nil
}

func (l *stepLister) print(s cyclone.StepInfo) {
	l.n++
	if l.p.json {
		l.p.object(stepOf(s))
		return
	}
	l.table = append(l.table, s)
}

// flush prints what has come for people: columns line up within a page.
func (l *stepLister) flush() {
	if len(l.table) > 0 {
		l.p.stepTable(l.table)
		l.table = l.table[:0]
	}
}
