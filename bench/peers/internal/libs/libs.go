// Package libs drives the libraries that are written in Go, each as its own
// documentation recommends for throughput: one file each.
package libs

import (
	"log/slog"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
)

// Library is a library by name.
type Library struct {
	Open client.Opener
	// Module is the path of its Go module.
	Module string
}

// All are the libraries by the names that contenders have.
var All = map[string]Library{
	"cyclone":    {openCyclone, "github.com/cyclone-queue/cyclone"},
	"floor":      {openFloor, "github.com/redis/go-redis/v9"},
	"asynq":      {openAsynq, "github.com/hibiken/asynq"},
	"river":      {openRiver, "github.com/riverqueue/river"},
	"nats":       {openNATS, "github.com/nats-io/nats.go"},
	"beanstalkd": {openBeanstalkd, "github.com/beanstalkd/go-beanstalk"},
}

// quiet drops what libraries log: planned failures are no news.
var quiet = slog.New(slog.DiscardHandler)

// setting is a setting, or what it is by default.
func setting(settings map[string]int, name string, otherwise int) int {
	if value, ok := settings[name]; ok {
		return value
	}
	return otherwise
}
