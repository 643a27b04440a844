package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone"
)

// ErrNoAttempt is returned by [Once] when its context does not come from a
// handler. Nothing was done.
var ErrNoAttempt = errors.New("inbox: the context does not come from a handler")

// maxEffect is the limit of an effect's name in bytes.
const maxEffect = 128

// Once runs fn in a transaction and stores its result there, once for this step
// of this run: when that has been committed before, fn is not called and the
// stored result is returned. When two executions meet, for instance because one
// of them has lost its lease, the second waits for the end of the first.
//
// effect, 1 to 128 bytes, tells the effects of one step apart. The result is
// stored as JSON. fn must leave commit and rollback to Once, and should do all its
// work through tx: what it does elsewhere is not undone.
//
// An error of fn rolls everything back and is returned as it is, so that the
// handler's retries go on. An error of the commit leaves it open whether it took
// place; the next attempt finds out. A stored result that is no T any more is a
// permanent error. ctx ends the transaction when the attempt ends.
func Once[T any](ctx context.Context, b *Inbox, effect string, fn func(ctx context.Context, tx *sql.Tx) (T, error)) (T, error) {
	var out T
	attempt, ok := cyclone.FromContext(ctx)
	if !ok {
		return out, ErrNoAttempt
	}
	if len(effect) == 0 || len(effect) > maxEffect {
		return out, cyclone.Permanent(fmt.Errorf("inbox: effect of %d bytes: must be 1 to %d", len(effect), maxEffect))
	}
	row := row{b: b, key: []any{b.cfg.Scope, int64(attempt.RunID()), attempt.Node(), effect}}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return out, fmt.Errorf("inbox: begin: %w", err)
	}
	defer tx.Rollback() // after the commit it does nothing
	first, err := row.claim(ctx, tx)
	if err != nil {
		return out, err
	}
	if !first {
		return out, row.load(ctx, tx, &out)
	}
	result, err := fn(ctx, tx)
	if err != nil {
		return out, err
	}
	if err := row.store(ctx, tx, result); err != nil {
		return out, err
	}
	if err := tx.Commit(); err != nil {
		return out, fmt.Errorf("inbox: commit: %w", err)
	}
	return result, nil
}

// row is one effect's row.
type row struct {
	b   *Inbox
	key []any
}

// claim puts the row there; false when a committed one is there already.
func (r row) claim(ctx context.Context, tx *sql.Tx) (bool, error) {
	inserted, err := tx.ExecContext(ctx, r.b.table.insert, r.key...)
	if err != nil {
		return false, fmt.Errorf("inbox: insert: %w", err)
	}
	n, err := inserted.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("inbox: insert: %w", err)
	}
	return n == 1, nil
}

func (r row) load(ctx context.Context, tx *sql.Tx, into any) error {
	var stored []byte
	if err := tx.QueryRowContext(ctx, r.b.table.result, r.key...).Scan(&stored); err != nil {
		return fmt.Errorf("inbox: select: %w", err)
	}
	if err := json.Unmarshal(stored, into); err != nil {
		return cyclone.Permanent(fmt.Errorf("inbox: the result that was stored for %v is no %T any more: %w", r.key[1:], into, err))
	}
	return nil
}

func (r row) store(ctx context.Context, tx *sql.Tx, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return cyclone.Permanent(fmt.Errorf("inbox: result: %w", err))
	}
	if _, err := tx.ExecContext(ctx, r.b.table.update, append(r.key[:len(r.key):len(r.key)], string(encoded))...); err != nil {
		return fmt.Errorf("inbox: update: %w", err)
	}
	return nil
}
