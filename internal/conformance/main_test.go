// Package conformance_test holds the engine to what Cyclone promises: a test per
// claim, through the public API, on the embedded server, Redis and Valkey. What
// the embedded server cannot do (maxmemory, WAIT) runs on real servers only.
package conformance_test

import (
	"flag"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// together is how many tests run at once: most of them wait for a lease to end.
const together = "12"

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", together)
	}
	testserver.Run(m)
}
