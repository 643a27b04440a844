// Package bounds holds what a job costs, in figures that do not depend on how fast the
// machine is: allocations of the Go program, script calls and commands that Redis runs,
// bytes on the wire, and bytes in Redis. Each has a bound in bounds.md, and
// TestBounds fails when one is exceeded.
//
//	go test -v -run TestBounds ./internal/bounds    prints every figure beside its bound
//	go test ./internal/bounds -update               makes what is measured the bounds
//
// A [workload] does a fixed number of jobs on a redis-server that it has to itself, and is
// repeated on an emptied one. How many jobs share a script call depends on who was
// scheduled when; therefore a figure is the least of all rounds. Whatever disturbs a round adds
// to its figures and takes nothing from them, so the least is stable, and a change that
// makes jobs cost more raises it. There are further rounds only while a figure is
// above its bound. Garbage is collected between rounds and not within, because a
// collection empties pools, whose refilling counts as allocations.
//
// The package consists of its tests.
package bounds
