package queue

import (
	"time"

	"github.com/cyclone-queue/cyclone"
)

// WorkerInfo is what a worker says about itself with each heartbeat; package
// worker writes it as JSON. Times are by the worker's clock but for LastSeen.
type WorkerInfo struct {
	ID   string `json:"id,omitempty"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Started is when the worker began to run.
	Started     time.Time `json:"started"`
	Queues      []string  `json:"queues"`
	Concurrency int       `json:"concurrency"`
	// Busy is the number of attempts under way; Running has the oldest of them.
	Busy    int           `json:"busy"`
	Running []RunningStep `json:"running"`
	// Stopping tells that the worker shuts down and takes nothing more.
	Stopping bool `json:"stopping,omitempty"`
	// LastSeen is the time of the latest heartbeat by Redis' clock.
	LastSeen time.Time `json:"last_seen,omitzero"`
}

// RunningStep is an attempt that a worker has under way.
type RunningStep struct {
	RunID   cyclone.RunID `json:"run_id"`
	Node    string        `json:"node"`
	Kind    string        `json:"kind"`
	Queue   string        `json:"queue"`
	Attempt int           `json:"attempt"`
	// Since is when the attempt began.
	Since time.Time `json:"since"`
}
