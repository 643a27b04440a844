package workflow

import (
	"errors"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// EnqueueTx adds a run of the workflow to the completion transaction of a handler: it is
// enqueued if and only if the attempt's completion counts, in the same instant, on the
// partition of the handler's run. It is one operation of the transaction, whose limits
// [cyclone.CompletionTx] tells.
//
// Any mistake in the definition makes it return a [*BuilderError] with all of them;
// [cyclone.WithUnique] is one, since the key may live on another partition. As with
// every operation, an attempt whose transaction has refused something fails, even when
// its handler returns nil. The deadline counts from the completion. What the inputs
// point to may change when EnqueueTx has returned.
//
// When the handler has returned, its worker stores the run beforehand, in as many calls as
// it takes, and the completion begins it. What is stored of a run whose completion does
// not come is removed after ten minutes.
func (b *Builder) EnqueueTx(tx cyclone.CompletionTx) error {
	err := tx.EnqueueRun(b.request(-1))
	var faults *wire.RunFaults
	if errors.As(err, &faults) {
		return builderError(faults)
	}
	return err
}
