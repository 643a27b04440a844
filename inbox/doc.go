// Package inbox makes what a handler does to a SQL database happen exactly once.
//
// Cyclone runs a handler at least once: a worker that dies after the handler has
// committed and before that is stored in Redis leaves a step that runs again.
// [Once] puts the change and a row that names it into one transaction, so the
// second execution finds the row and returns the stored result instead:
//
//	var Charge = cyclone.NewStep("charge", func(ctx cyclone.Context, in Order) (Receipt, error) {
//		return inbox.Once(ctx, box, "charge", func(ctx context.Context, tx *sql.Tx) (Receipt, error) {
//			return charge(ctx, tx, in)
//		})
//	})
//
// It is for PostgreSQL, and for what speaks its dialect. It imports no driver.
package inbox
