// Package faultproxy stands between a client and a Redis server and breaks
// chosen calls in chosen ways. It reads the protocol frame by frame, so it can
// act between a command's execution and its reply, which a proxy of bytes
// cannot.
//
// What happens follows from the rules alone: a [Rule] counts the calls that it
// matches and hits by their number, or by dice that a seed and that number
// decide. Several connections share the count.
//
// A connection that subscribes, monitors or replicates is passed on as plain
// bytes after the first reply; no rule sees what follows on it.
package faultproxy
