// Package wire is what the program and the client processes of the contenders
// say to each other over pipes: one JSON object a line, a command down and a
// reply up, in turns. Clients in other languages speak the same.
//
// Times are nanoseconds of the Unix epoch: all processes share one clock.
package wire

// Operations.
const (
	OpOpen    = "open"    // connect to the server
	OpProduce = "produce" // enqueue, reply when all is enqueued
	OpWork    = "work"    // start a worker, reply when it has been started
	OpAwait   = "await"   // reply when so many jobs were handled or the time is over
	OpStop    = "stop"    // end the worker softly, reply when what it finished is settled
	OpUsage   = "usage"   // reply with what the process has used so far
)

// Command is one order. Only the part that its operation names is set.
type Command struct {
	Op      string   `json:"op"`
	Open    *Open    `json:"open,omitempty"`
	Produce *Produce `json:"produce,omitempty"`
	Work    *Work    `json:"work,omitempty"`
	Await   *Await   `json:"await,omitempty"`
}

// Reply answers a command: with an error, or with the part that fits it.
type Reply struct {
	Error    string    `json:"error,omitempty"`
	Produced *Produced `json:"produced,omitempty"`
	Started  int64     `json:"started,omitempty"` // when the start of the worker began
	Handled  *Handled  `json:"handled,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"`
}

// Open says where the server is and how the library is set up.
type Open struct {
	Address  string         `json:"address"`
	Settings map[string]int `json:"settings"`
}

// Produce says what to enqueue. Job i of 0..Jobs-1 has the number First + i.
type Produce struct {
	Jobs       int `json:"jobs"`
	First      int `json:"first"`
	Goroutines int `json:"goroutines"`
	// Batch is how many jobs share a call, 0 for the call that takes one job.
	Batch int `json:"batch"`
	// Bytes is the size of a payload. It begins with a time and the number.
	Bytes int `json:"bytes"`
	// Start and Every pace the calls: job i goes out at Start + i × Every, and its
	// payload has that time. Every 0 means as fast as the library takes them.
	Start int64 `json:"start"`
	Every int64 `json:"every"`
	// Due and DueEvery schedule: job i is to start at Due + i × DueEvery. Due 0
	// means at once.
	Due      int64 `json:"due"`
	DueEvery int64 `json:"due_every"`
	// Unique gives every job a unique key of its own. Keep asks for jobs that are
	// kept when they are finished.
	Unique bool `json:"unique"`
	Keep   bool `json:"keep"`
	// Queues spreads the jobs evenly over so many queues, 0 for the default queue.
	// Aside puts all into a queue that no worker serves.
	Queues int  `json:"queues"`
	Aside  bool `json:"aside"`
	// Limit ends it early, in ms.
	Limit int64 `json:"limit"`
}

// Produced is what became of it.
type Produced struct {
	Jobs  int   `json:"jobs"`
	Began int64 `json:"began"`
	Ended int64 `json:"ended"`
}

// Work says how to work. The library's own settings came with Open.
type Work struct {
	// Expect is how many jobs will be handled.
	Expect int `json:"expect"`
	// Sleep is how long a handler takes, in ns.
	Sleep int64 `json:"sleep"`
	// FailEvery lets the first attempt of each n-th job fail, 0 for none. The retry
	// comes as soon as the library can.
	FailEvery int `json:"fail_every"`
	// FailAll lets every attempt fail; Discard gives up after the first one, else
	// the retry comes in an hour.
	FailAll bool `json:"fail_all"`
	Discard bool `json:"discard"`
	Queues  int  `json:"queues"`
}

// Await says for how many jobs to wait, and for how long in ms.
type Await struct {
	Jobs  int   `json:"jobs"`
	Limit int64 `json:"limit"`
	// Late asks for the latencies.
	Late bool `json:"late"`
}

// Handled is what the worker has done since it was started.
type Handled struct {
	Jobs int   `json:"jobs"`
	Last int64 `json:"last"` // when the last job was handled
	Late *Late `json:"late,omitempty"`
}

// Late is how long after the times in their payloads jobs started, in ms.
type Late struct {
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Usage counts from the start of the process.
type Usage struct {
	Allocations uint64 `json:"allocations"` // 0 where the language does not tell
	Version     string `json:"version"`     // of the library
}

// The settings that libraries share; each has others of its own.
const (
	Pool        = "pool"        // connections
	Concurrency = "concurrency" // handlers at once
	Servers     = "servers"     // workers in one process
	Poll        = "poll"        // ms between two looks for work
	Partitions  = "partitions"
	Bytes       = "bytes"   // of a payload, where it is large, for clients that fetch ahead
	Persist     = "persist" // 1 when the run persists, for clients that have to ask for it
)

// Names of what is enqueued.
const (
	Kind      = "noop"
	Queue     = "default"
	AsideName = "aside"
)
