package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	// Lease is for how long the worker takes its leases.
	Lease time.Duration `json:"lease"`
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

// Workers returns the workers that were seen within the last minutes, by id. One
// that was killed stays until it has been away for five minutes: see LastSeen.
func (c *Client) Workers(ctx context.Context) ([]WorkerInfo, error) {
	d, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := c.rdb.HGetAll(ctx, d.parts[0].keys.workers()).Result()
	if err != nil {
		return nil, fmt.Errorf("queue: workers: %w", err)
	}
	list := make([]WorkerInfo, 0, len(raw))
	for id, text := range raw {
		w, err := parseWorker(text)
		if err != nil {
			continue // written by another version
		}
		w.ID = id
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b WorkerInfo) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// parseWorker reads `<ms> <JSON>`.
func parseWorker(text string) (w WorkerInfo, err error) {
	seen, info, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(seen, 10, 64)
	if err != nil {
		return w, err
	}
	err = json.Unmarshal([]byte(info), &w)
	w.LastSeen = timeOf(ms)
	return w, err
}
