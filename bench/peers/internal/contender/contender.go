// Package contender describes who takes part, and runs their client processes.
package contender

import (
	"os/exec"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
)

// Contender is one that takes part.
type Contender struct {
	Name string
	// Guarantee is what a worker that dies can do to a job.
	Guarantee string
	// About says what else a reader must know.
	About string
	Can   Ability
	// Only are the names of the cases that it takes part in, nil for all.
	Only []string
	// Missing says what is not installed, nil when all is there.
	Missing func() error
	Start   server.Start
	// Client is the command of a client process.
	Client func() *exec.Cmd
	// Warms says that its language compiles while it runs: its client processes are
	// kept from piece to piece, as they would live in production.
	Warms bool
	// Tries are the settings to try, by what they are for; the best is taken.
	Tries map[Purpose][]Settings
}

// Settings are settings of a library under a name for the report.
type Settings struct {
	Name   string
	Values map[string]int
}

// Purpose is what settings are chosen for.
type Purpose string

// What settings are chosen for.
const (
	ForSingles Purpose = "single enqueues"
	ForBulk    Purpose = "bulk enqueue"
	ForDrain   Purpose = "drain"
	ForPickup  Purpose = "pick-up"
	ForDue     Purpose = "due at one instant"
	ForRetries Purpose = "retries"
)

// Ability is a set of things that a contender can do.
type Ability uint

// What cases can need.
const (
	Singles    Ability = 1 << iota // enqueue one job by one call
	Bulk                           // enqueue many by one call
	Handlers                       // run handlers side by side
	Schedule                       // start jobs at a time
	Retries                        // try a failed job again, by itself
	Unique                         // refuse a second job with the same key
	Keep                           // keep finished jobs for a while
	Queues                         // several queues for one worker
	Partitions                     // spread one queue over partitions
	Discards                       // keep jobs that have failed for good
)

// Has tells whether all of the needed abilities are there.
func (a Ability) Has(needed Ability) bool { return a&needed == needed }
