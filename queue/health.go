package queue

import "time"

// Health is what can be seen of the servers and the deployment. Facts that the
// account may not ask for are named in Unknown.
type Health struct {
	Prefix     string
	Schema     int
	Partitions int
	// Servers has one entry, on Redis Cluster one per primary.
	Servers []ServerHealth
}

// ServerHealth is what one server says about itself.
type ServerHealth struct {
	Addr string
	// Software is "redis" or "valkey", Version its version.
	Software, Version string
	Mode              string // standalone, sentinel or cluster
	UsedMemory        int64  // bytes
	MaxMemory         int64  // bytes, 0 for no limit
	// EvictionPolicy must be "noeviction": any other one may delete steps.
	EvictionPolicy string
	// AOF tells whether the append-only file is on, and Fsync how it is synced:
	// always, everysec or no. Snapshots is the schedule of snapshots, "" for none.
	AOF       bool
	Fsync     string
	Snapshots string
	Replicas  int
	// ClockDifference is the server's clock minus the local one, within half of
	// RoundTrip.
	ClockDifference, RoundTrip time.Duration
	// Unknown names the facts that could not be read, with the reason.
	Unknown map[string]string
}
