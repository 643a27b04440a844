package contender

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

var river = Contender{
	Name: "river", Guarantee: "at least once",
	About:   "on PostgreSQL with synchronous_commit=off, and without persistence fsync=off; a job's state is a row that stays for a day",
	Can:     Singles | Bulk | Handlers | Schedule | Retries | Unique | Keep | Queues,
	Missing: server.MissingPostgres, Start: server.Postgres, Client: goClient("river"),
	Tries: map[Purpose][]Settings{
		ForSingles: {{"10 connections", map[string]int{wire.Pool: 10}}, {"50 connections", map[string]int{wire.Pool: 50}}},
		ForBulk:    {{"InsertManyFast, 10 connections", map[string]int{wire.Pool: 10}}},
		ForDrain: {
			riverWorkers("2000 workers, fetch cooldown 2 ms, poll 20 ms", 2000, 2, 20),
			riverWorkers("1000 workers, fetch cooldown 10 ms, poll 100 ms", 1000, 10, 100),
			riverWorkers("200 workers, fetch cooldown 2 ms, poll 20 ms", 200, 2, 20),
		},
		ForPickup: {
			riverWorkers("100 workers, fetch cooldown 1 ms, poll 1 s", 100, 1, 1000),
			riverWorkers("100 workers, fetch cooldown 2 ms, poll 20 ms", 100, 2, 20),
		},
		ForRetries: {
			riverWorkers("2000 workers, fetch cooldown 2 ms, poll 20 ms", 2000, 2, 20),
			riverWorkers("200 workers, fetch cooldown 2 ms, poll 20 ms", 200, 2, 20),
		},
		ForDue: {riverWorkers("2000 workers, fetch cooldown 2 ms, poll 20 ms", 2000, 2, 20)},
	},
}

func riverWorkers(name string, workers, cooldown, poll int) Settings {
	return Settings{name, map[string]int{wire.Pool: 20, wire.Concurrency: workers, "cooldown": cooldown, wire.Poll: poll}}
}

var nats = Contender{
	Name: "nats", Guarantee: "at least once, acks not confirmed",
	About:   "JetStream work-queue stream in memory, with persistence in files; bulk by asynchronous publishes",
	Can:     Singles | Bulk | Handlers | Schedule | Retries | Unique,
	Missing: func() error { return nil }, Start: server.NATS, Client: goClient("nats"),
	Tries: map[Purpose][]Settings{
		ForSingles: {{Name: "one connection, publish waits for its confirmation"}},
		ForBulk:    {{"4000 publishes pending", map[string]int{"pending": 4000}}, {"16000 publishes pending", map[string]int{"pending": 16000}}},
		ForDrain: {
			natsWorkers("one handler at a time, prefetch 500", 1, 500),
			natsWorkers("one handler at a time, prefetch 5000", 1, 5000),
			natsWorkers("concurrency 100, prefetch 500", 100, 500),
			natsWorkers("concurrency 100, prefetch 5000", 100, 5000),
		},
		ForPickup: {natsWorkers("concurrency 100, prefetch 500", 100, 500)},
		ForDue:    {natsWorkers("concurrency 100, prefetch 5000", 100, 5000)},
		ForRetries: {
			natsWorkers("one handler at a time, prefetch 5000", 1, 5000),
			natsWorkers("concurrency 100, prefetch 5000", 100, 5000),
		},
	},
}

func natsWorkers(name string, concurrency, prefetch int) Settings {
	return Settings{name, map[string]int{wire.Concurrency: concurrency, "prefetch": prefetch}}
}

var bullmq = Contender{
	Name: "bullmq", Guarantee: "at least once",
	About: "one Node.js process", Warms: true,
	Can:     Singles | Bulk | Handlers | Schedule | Retries | Unique | Keep | Queues,
	Missing: missingBullMQ, Start: server.Redis,
	Client: func() *exec.Cmd { return exec.Command("node", beside("bullmq", "client.mjs")) },
	Tries: map[Purpose][]Settings{
		ForDrain:   append(workers(50, 200), Settings{"3 workers of concurrency 100", map[string]int{wire.Servers: 3, wire.Concurrency: 100}}),
		ForPickup:  workers(50),
		ForDue:     workers(200),
		ForRetries: workers(50, 200),
	},
}

func missingBullMQ() error {
	if err := onPath("node", "redis-server")(); err != nil {
		return err
	}
	if _, err := os.Stat(beside("bullmq", "node_modules", "bullmq")); err != nil {
		return errors.New("run `npm ci --ignore-scripts` in bench/peers/bullmq")
	}
	return nil
}

var beanstalkd = Contender{
	Name: "beanstalkd", Guarantee: "at least once",
	About:   "no bulk call; delays are whole seconds; memory is the process's",
	Can:     Singles | Handlers | Schedule | Retries | Queues | Discards,
	Missing: onPath("beanstalkd"), Start: server.Beanstalkd, Client: goClient("beanstalkd"),
	Tries: map[Purpose][]Settings{
		ForSingles: connections(10, 50),
		ForDrain:   workers(10, 50, 200),
		ForPickup:  workers(10),
		ForDue:     workers(50),
		ForRetries: workers(50, 200),
	},
}

var sidekiq = Contender{
	Name: "sidekiq", Guarantee: "at most once",
	About:   "one Ruby process; a worker that dies loses the jobs that it holds",
	Can:     Singles | Bulk | Handlers | Schedule | Retries | Queues,
	Missing: missingSidekiq, Start: server.Redis,
	Client: func() *exec.Cmd { return exec.Command("ruby", beside("sidekiq", "client.rb")) },
	Tries: map[Purpose][]Settings{
		ForSingles: connections(10, 50),
		ForBulk:    connections(10),
		ForDrain:   workers(10, 25),
		ForPickup:  workers(10),
		ForDue: {
			{"concurrency 10, poll 200 ms", map[string]int{wire.Concurrency: 10, wire.Poll: 200}},
		},
		ForRetries: {
			{"concurrency 10, poll 200 ms", map[string]int{wire.Concurrency: 10, wire.Poll: 200}},
		},
	},
}

func missingSidekiq() error {
	if err := onPath("ruby", "redis-server")(); err != nil {
		return err
	}
	if err := exec.Command("ruby", "-e", `gem "sidekiq", "~> 6.4"`).Run(); err != nil {
		return errors.New("no gem sidekiq 6.4 for ruby (Debian: ruby-sidekiq)")
	}
	return nil
}

// connections are settings of a pool of so many.
func connections(sizes ...int) []Settings {
	all := make([]Settings, len(sizes))
	for i, n := range sizes {
		all[i] = Settings{fmt.Sprint(n, " connections"), map[string]int{wire.Pool: n}}
	}
	return all
}

// beside is a file in this module's folder, from where it was built.
func beside(parts ...string) string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(append([]string{filepath.Dir(here), "..", ".."}, parts...)...)
}
