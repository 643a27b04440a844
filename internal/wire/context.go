package wire

import "strconv"

// ContextKey is the key under which a context carries the attempt's Context.
// Whoever builds a Context makes it answer Value(ContextKey{}) with itself, so
// that it is found in every context derived from it.
type ContextKey struct{}

// IdempotencyKey is the key of a step's effects: the same on every attempt, and
// of no other step.
func IdempotencyKey(runID int64, node string) string {
	return strconv.FormatInt(runID, 10) + ":" + node
}
