// Package shape makes the graph of a run small enough to look at: nodes that are
// alike become one vertex ([Fold]), and every vertex gets a place in a tree.
package shape
