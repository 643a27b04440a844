package testserver

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// readyWithin bounds how long a server may take until it serves, an
// append-only file to load included.
const readyWithin = 30 * time.Second

// errEnded is returned when the program ended instead of serving.
var errEnded = errors.New("testserver: the server ended while starting")

var processID = regexp.MustCompile(`process_id:(\d+)`)

// awaitReady returns nil when this very process answers on its port.
func (p *process) awaitReady() error {
	c := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := p.ready(ctx, c)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("testserver: not ready after %v: %w", readyWithin, err)
		case <-retry.C:
		}
	}
}

// ready asks for the process id, because another test binary's server may have
// won the port.
func (p *process) ready(ctx context.Context, c *redis.Client) error {
	if err := c.Ping(ctx).Err(); err != nil { // LOADING is an error
		return err
	}
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if m := processID.FindStringSubmatch(info); m == nil || m[1] != strconv.Itoa(p.os.Pid) {
		return fmt.Errorf("another server listens on %s", p.addr())
	}
	return nil
}
