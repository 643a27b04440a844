// Package worker drives what package queue stores: it claims ready steps under
// leases, runs their handlers, and settles the outcomes, in batches of whatever
// has come together while the previous call was under way.
//
// A worker is a few goroutines around one mutex: turners, which exchange one
// script call per loop turn with Redis; a goroutine per running attempt; a
// heartbeat, which renews leases; a listener, which hears of work and of
// cancelled steps; and maintenance.
//
// It may import the root package, retry and queue.
package worker
