package queue

import (
	"context"
	"errors"
	"strconv"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// txRoots is how many nodes the script that completes a step starts for the runs that
// its transaction enqueues; the sweep starts those of the other runs.
const txRoots = 100

// prepareTxRun checks and encodes a run of many steps for a transaction.
func (s *Store) prepareTxRun(spec *wire.RunSpec) (any, error) {
	it := &runItem{held: true}
	if err := s.client.prepareRun(it, spec); err != nil {
		return nil, err
	}
	return it, nil
}

// BuildRuns stores the runs of many steps that the transaction of a completion enqueues.
// Nothing is seen of them before they begin with it; those of a completion that does
// not come are given up after ten minutes. It has to come before [Store.Advance], and is
// safe to repeat: what is known to be stored is not stored again.
func (s *Store) BuildRuns(ctx context.Context, c *Claimed, tx *wire.Content) error {
	if tx == nil || len(tx.Runs) == 0 {
		return nil
	}
	d, err := s.client.join(ctx)
	if err != nil {
		return err
	}
	p := d.parts[c.partition]
	room := txRoots
	sent := make([]runItem, len(tx.Runs))
	for i := range tx.Runs {
		run := tx.Runs[i].Prepared.(*runItem)
		if run.swept = run.roots > room; !run.swept {
			room -= run.roots
		}
		if tx.Runs[i].ID == 0 {
			sent[i] = *run
			p.start(&sent[i])
		}
	}
	var errs []error
	for i := range tx.Runs {
		if tx.Runs[i].ID == 0 {
			receipt, err := p.wait(ctx, &sent[i])
			tx.Runs[i].ID = int64(receipt.ID)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// startedBy counts the ids that a script touches which begins the runs.
func startedBy(runs []wire.TxRun) (n int) {
	for i := range runs {
		n++
		if it := runs[i].Prepared.(*runItem); !it.swept {
			n += it.roots
		}
	}
	return n
}

// beginRun is the operation that begins a run of a transaction.
func (a *advance) beginRun(run *wire.TxRun) luascripts.TxOp {
	it, id := run.Prepared.(*runItem), strconv.FormatInt(run.ID, 10)
	b := luascripts.BuildRun{Key: a.p.keys.run(id), ID: id}
	it.begin(&b, a.queue, nil)
	return luascripts.TxRun(&b, a.p.keys.building())
}
