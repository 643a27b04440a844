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
// Whole workers also run workflows and tasks with recorded steps, under operators that
// cancel, retry, signal and delete runs and nodes, and meet the same faults. After each
// script every run is held against its graph: each node is in one place, what it counts
// is so, what is due for it somebody will see to, nothing starts before what it depends
// on has ended, and it ends as its nodes say. What a task has recorded stays as it is
// and is not executed again; a signal is stored once and taken once; a completion
// transaction has taken effect exactly where its completion counted.
//
// There are two drivers of the same world. The store driver has actors that use
// queue.Client and queue.Store one call after another: each seed is run twice and
// must leave the same trace, a hash of every (virtual time, command, arguments).
// The engine driver runs whole workers. Their goroutines meet at single instants,
// where the scheduler decides the order, so that a seed goes another way each time and
// 50 of them search more than 50 ways. Command replay plays a seed of it so that it goes
// the same way each time: the same tests in WebAssembly, with one thread.
package sim
