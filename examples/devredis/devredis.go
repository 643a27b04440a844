// Package devredis gives the examples a Redis: the one named by the flag -redis,
// or a server inside the program, whose data ends with it.
//
// It is for trying things out. A program of your own opens its own Redis with
// queue.Open or hands its go-redis client to queue.NewClient.
package devredis

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
)

var given = flag.String("redis", "", "`URL` of a Redis to use, such as redis://127.0.0.1:6379/0 (default: a server inside this program)")

// URL returns the address of the program's Redis. It parses the command line if
// that has not been done, and ends the program when there is no server to be had.
func URL() string { return url() }

var url = sync.OnceValue(func() string {
	if !flag.Parsed() {
		flag.Parse()
	}
	if *given != "" {
		return *given
	}
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	return server.URL()
})

// Client returns a client on the program's Redis. Without a prefix it gets one of
// the program's own, so that an example meets no steps of others. It ends the
// program when the configuration is bad.
func Client(cfg queue.Config, opts ...cyclone.ClientOption) *queue.Client {
	if cfg.Prefix == "" {
		cfg.Prefix = "example-" + strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
	}
	client, err := queue.Open(URL(), cfg, opts...)
	if err != nil {
		log.Fatal(err)
	}
	return client
}
