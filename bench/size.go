package main

import "time"

// size is how much each case does.
type size struct {
	enqueue   int           // jobs of the bulk enqueue
	singles   int           // jobs enqueued one by one
	drain     int           // backlog to drain
	both      int           // jobs enqueued while they are drained
	pickups   int           // samples of the idle pick-up
	scheduled time.Duration // how long one step a millisecond falls due
	instant   int           // steps due at one instant
	memory    int           // jobs in Redis when its memory is read
	idle      time.Duration // how long the idle worker is watched
	steps     int           // steps of runs of many
}

var (
	fullSize = size{
		enqueue: 400_000, singles: 200_000, drain: 400_000, both: 400_000, pickups: 300,
		scheduled: 10 * time.Second, instant: 100_000, memory: 200_000, idle: 20 * time.Second, steps: 100_000,
	}
	quickSize = size{
		enqueue: 100_000, singles: 50_000, drain: 100_000, both: 100_000, pickups: 100,
		scheduled: 3 * time.Second, instant: 20_000, memory: 100_000, idle: 5 * time.Second, steps: 20_000,
	}
)
