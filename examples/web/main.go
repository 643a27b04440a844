// Web is a small web application: a request enqueues a step and is answered at once;
// a page shows the step's state until its output is there.
//
//	go run ./examples/web                     open http://127.0.0.1:8080
//	go run ./examples/web -for 10s            ends by itself
//	go run ./examples/web -redis redis://127.0.0.1:6379/0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/cyclone-queue/cyclone/examples/devredis"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	limit := flag.Duration("for", 0, "how long to run; 0 means until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		ctx, stop = context.WithTimeout(ctx, *limit)
		defer stop()
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("open http://%s\n", listener.Addr())
	if err := run(ctx, devredis.Client(queue.Config{}), listener); err != nil {
		log.Fatal(err)
	}
}

// run serves pages and works until ctx is done. In production the worker is often a
// program of its own.
func run(ctx context.Context, client *queue.Client, listener net.Listener) error {
	w, err := worker.New(client, worker.Config{Queues: worker.Queues(posters), Concurrency: 4})
	if err != nil {
		return err
	}
	w.Register(RenderPoster)
	worked := make(chan error, 1)
	go func() { worked <- w.Run(ctx) }()

	server := &http.Server{Handler: newSite(client), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(<-stopped, <-worked, client.Close())
}
