package contender

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

var cyclone = Contender{
	Name: Cyclone, Guarantee: "at least once",
	About:   "leases with fences; single enqueues share calls by themselves",
	Can:     Singles | Bulk | Handlers | Schedule | Retries | Unique | Keep | Queues | Partitions | Discards,
	Missing: onPath("redis-server"), Start: server.Redis, Client: goClient(Cyclone),
	Tries: map[Purpose][]Settings{
		ForSingles: {{Name: "defaults"}},
		ForBulk:    {{Name: "defaults"}},
		ForDrain:   workers(100, 400, 1000),
		ForPickup:  {{Name: "defaults"}},
		ForDue:     workers(100, 400),
		ForRetries: workers(100, 400, 1000),
	},
}

// cycloneAOF shows what syncing every second costs.
var cycloneAOF = Contender{
	Name: CycloneAOF, Guarantee: cyclone.Guarantee,
	About:   "Cyclone on a server with appendonly and appendfsync everysec",
	Can:     cyclone.Can,
	Only:    []string{"singles-50", "bulk", "drain", "both-single", "both-bulk"},
	Missing: cyclone.Missing, Client: cyclone.Client, Tries: cyclone.Tries,
	Start: func(ctx context.Context, _ server.Options) (server.Server, error) {
		return server.Redis(ctx, server.Options{Persist: true})
	},
}

var floor = Contender{
	Name: Floor, Guarantee: "at least once",
	About:   "bare scripts with leases: what Redis can do at all; batches of 100 over 4 connections, single enqueues by one call each",
	Can:     Singles | Bulk,
	Missing: onPath("redis-server"), Start: server.Redis, Client: goClient(Floor),
	Tries: map[Purpose][]Settings{
		ForSingles: {{"50 connections", map[string]int{wire.Pool: 50}}},
		ForBulk:    {{"4 connections", map[string]int{wire.Pool: 4}}},
		ForDrain:   {{"4 connections", map[string]int{wire.Pool: 8}}},
		ForPickup:  {{"4 connections", map[string]int{wire.Pool: 8}}},
	},
}

var asynq = Contender{
	Name: Asynq, Guarantee: "at least once",
	About:   "no bulk call: what needs one is done from 50 goroutines",
	Can:     Singles | Handlers | Schedule | Retries | Unique | Keep | Queues | Discards,
	Missing: onPath("redis-server"), Start: server.Redis, Client: goClient(Asynq),
	Tries: map[Purpose][]Settings{
		ForSingles: {{Name: "default pool"}, {"50 connections", map[string]int{wire.Pool: 50}}},
		ForDrain: {
			{"concurrency 20", map[string]int{wire.Concurrency: 20, wire.Poll: 10, "delayed_poll": 1000}},
			{"concurrency 100", map[string]int{wire.Concurrency: 100, wire.Poll: 10, "delayed_poll": 1000}},
			{"concurrency 400, pool 100", map[string]int{wire.Concurrency: 400, wire.Pool: 100, wire.Poll: 10, "delayed_poll": 1000}},
		},
		ForPickup: {
			{"check interval 1 ms", map[string]int{wire.Concurrency: 100, wire.Poll: 1, "delayed_poll": 1000}},
			{"defaults", map[string]int{wire.Concurrency: 100}},
		},
		ForRetries: {
			{"concurrency 100, check intervals 1 s and 10 ms", map[string]int{wire.Concurrency: 100, wire.Poll: 10, "delayed_poll": 1000}},
			{"concurrency 100, check intervals 100 ms and 10 ms", map[string]int{wire.Concurrency: 100, wire.Poll: 10, "delayed_poll": 100}},
		},
		ForDue: {
			{"concurrency 100, check intervals 1 s and 10 ms", map[string]int{wire.Concurrency: 100, wire.Poll: 10, "delayed_poll": 1000}},
			{"concurrency 100, check intervals 100 ms and 1 ms", map[string]int{wire.Concurrency: 100, wire.Poll: 1, "delayed_poll": 100}},
		},
	},
}

var asynqFour = Contender{
	Name: AsynqFour, Guarantee: "at least once",
	About:   "four servers in one process",
	Can:     asynq.Can,
	Only:    []string{"drain", "both-single"},
	Missing: asynq.Missing, Start: asynq.Start, Client: asynq.Client,
	Tries: map[Purpose][]Settings{
		ForSingles: asynq.Tries[ForSingles],
		ForDrain: {
			{"concurrency 4×25", map[string]int{wire.Servers: 4, wire.Concurrency: 25, wire.Poll: 10}},
			{"concurrency 4×100", map[string]int{wire.Servers: 4, wire.Concurrency: 100, wire.Poll: 10}},
		},
	},
}

// workers are settings of one worker with so many handlers.
func workers(concurrency ...int) []Settings {
	all := make([]Settings, len(concurrency))
	for i, n := range concurrency {
		all[i] = Settings{fmt.Sprint("concurrency ", n), map[string]int{wire.Concurrency: n}}
	}
	return all
}
