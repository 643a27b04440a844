package stage

// Sample is what one measurement of one contender yielded.
type Sample map[Metric]float64

// Metric names one value in a sample.
type Metric string

// What is measured.
const (
	JobsPerSecond     Metric = "jobs_per_second"
	EnqueuedPerSecond Metric = "enqueued_per_second"
	ServerMicros      Metric = "server_cpu_us_per_job"
	ClientMicros      Metric = "client_cpu_us_per_job"
	Allocations       Metric = "client_allocations_per_job"
	MinMillis         Metric = "min_ms"
	P50Millis         Metric = "p50_ms"
	P99Millis         Metric = "p99_ms"
	P999Millis        Metric = "p99.9_ms"
	LastMillis        Metric = "last_ms"
	BytesPerJob       Metric = "bytes_per_job"
	Share             Metric = "share_of_ideal"
	CommandsPerSec    Metric = "server_commands_per_second"
	ServerPercent     Metric = "server_percent_of_a_core"
	ClientPercent     Metric = "client_percent_of_a_core"
)
