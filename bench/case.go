package main

import "context"

// sample holds what one measurement of one side yielded, by metric.
type sample map[metric]float64

// metric names one value in a sample.
type metric string

const (
	jobsPerSecond   metric = "jobs_per_second"
	runsPerSecond   metric = "runs_per_second"
	redisMicros     metric = "redis_cpu_us_per_job"
	allocations     metric = "go_allocations_per_job"
	jobsPerCall     metric = "jobs_per_script_call"
	p50Millis       metric = "p50_ms"
	p99Millis       metric = "p99_ms"
	minMillis       metric = "min_ms"
	lastMillis      metric = "last_ms"
	bytesPerJob     metric = "redis_bytes_per_job"
	clientCommands  metric = "client_commands_per_second"
	countedCommands metric = "counted_commands_per_second"
)

// measurement runs one side of a case once, on an empty database.
type measurement func(context.Context, *lab) (sample, error)

// benchCase is one thing to measure. Every round runs the floor and Cyclone in
// turn, so that a drift of the machine hits both.
type benchCase struct {
	name      string // for --only
	about     string
	maxRounds int         // 0: as many as asked for
	floor     measurement // nil: there is nothing to compare with
	cyclone   measurement
	figures   []figure
}

// figure is one row of the report, read from the samples of a case.
type figure struct {
	title  string
	metric metric
	target target
}
