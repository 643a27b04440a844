// Package terminal is about what people see: text from strangers made harmless,
// colours where they are wanted, columns that line up, and how large the screen
// is. It knows nothing of queues.
package terminal
