// Package conformance_test holds the engine to what Cyclone promises: a test per
// claim, through the public API, on the embedded server, Redis and Valkey. What
// the embedded server cannot do (maxmemory, WAIT) runs on real servers only.
package conformance_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Run(m) }
