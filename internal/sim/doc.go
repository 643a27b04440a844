// Package sim runs the whole engine in a testing/synctest bubble over the
// in-process server, on virtual time, and breaks what can break: replies and
// requests are lost, requests arrive late or twice, connections freeze, workers
// crash, clocks jump, scripts are flushed, the server loads or is full. Everything
// comes from a seed.
//
// A [kernel] delivers one message at a time, in an order that the seed decides,
// and waits after each until every goroutine of the bubble is blocked. Then an
// [auditor] compares the whole key space with the rules: each step in one index,
// each entry with a body, each change one that the script makes, leases and unique
// keys with holders. At the end the faults stop, everything has to drain in time,
// and what was acknowledged has to have ended once.
//
// There are two drivers of the same world. The store driver has actors that use
// queue.Client and queue.Store one call after another: each seed is run twice and
// must leave the same trace, a hash of every (virtual time, command, arguments).
// The engine driver runs whole workers. Their goroutines meet at single instants,
// where the order is the scheduler's, so its traces are not compared: it searches.
package sim
