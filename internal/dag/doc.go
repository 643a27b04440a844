// Package dag is the graph of a run of many steps and the rules about it: what
// depends on what, how far a failure reaches, and what has to be done next so
// that no run waits for ever.
//
// Everything here is pure. The graph is stored once, when the run is built; the
// states of its nodes live beside it in Redis and are handed in as a [State].
// [Plan] compares the two and says which transitions are due. It decides nothing
// by itself about time or place, so the same rules serve the sweep, the tests
// and whoever wants to look at a run.
//
// A node's dependencies always come before it. A cycle can therefore not even
// be written down, and one pass from the first node to the last sees every
// dependency settled before it is asked about.
package dag
