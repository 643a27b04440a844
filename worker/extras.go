package worker

import (
	"context"
	"errors"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
)

// extras is what only some attempts have. They are made with the worker's mutex held.
type extras struct {
	journal *journal // of a task; set before the handler is entered

	// Guarded by the mutex, and nil until the handler has asked.
	tx      *queue.Completion
	outputs wire.Outputs // of the nodes that a node depends on
}

// more returns the attempt's extras. The mutex is held.
func (a *attempt) more() *extras {
	x := a.extras.Load()
	if x == nil {
		x = new(extras)
		a.extras.Store(x)
	}
	return x
}

// journal is the task's journal, nil for other steps.
func (a *attempt) journal() *journal {
	if x := a.extras.Load(); x != nil {
		return x.journal
	}
	return nil
}

// CompletionTx is made when it is first asked for.
func (a *attempt) CompletionTx() cyclone.CompletionTx {
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	x := a.more()
	if x.tx == nil {
		x.tx = a.worker.store.NewCompletion(a.claim)
	}
	return x.tx
}

// closeTx ends the transaction and returns what is in it; nil when there is none.
func (a *attempt) closeTx() (*wire.Content, error) {
	x := a.extras.Load()
	if x == nil {
		return nil, nil
	}
	a.worker.mu.Lock()
	tx := x.tx
	a.worker.mu.Unlock()
	if tx == nil {
		return nil, nil
	}
	return tx.Close()
}

// buildRuns stores the runs of many steps that the transaction enqueues, which begin with
// the completion. Trouble with Redis is waited out as long as the lease is held.
func (a *attempt) buildRuns(tx *wire.Content) error {
	if tx == nil || len(tx.Runs) == 0 {
		return nil
	}
	var refused error
	err := a.persist("build runs", func(ctx context.Context) error {
		err := a.worker.store.BuildRuns(ctx, a.claim, tx)
		if err != nil && !queue.Passing(err) && !errors.Is(err, queue.ErrFull) {
			refused, err = err, nil
		}
		return err
	})
	if err != nil {
		a.lose(err)
		return err
	}
	return refused
}

// outputs is what [cyclone.Output] reads, nil for the one step of a run.
func (a *attempt) outputs() wire.Outputs {
	if a.claim.Step.Node == 0 {
		return nil
	}
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	x := a.more()
	if x.outputs == nil {
		x.outputs = a.worker.store.Outputs(a.claim)
	}
	return x.outputs
}

// withExtras returns the completion with what else it has to write and to remove.
func (a *attempt) withExtras(s queue.Settlement, tx *wire.Content) queue.Settlement {
	if j := a.journal(); j != nil && j.stored() {
		s = s.WithJournal()
	}
	return s.WithTx(tx)
}
