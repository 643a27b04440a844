// Package topology_test runs Cyclone where keys live on several servers, or move to
// another one: on a Redis Cluster, and on a primary with a replica and a Sentinel.
// All goes through the public API and the command line; at the end the audit is
// clean and no server has refused a script for its keys.
package topology_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // a failover breaks connections
	testserver.Run(m)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
