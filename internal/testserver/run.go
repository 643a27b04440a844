package testserver

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Run is the body of a TestMain: it runs the tests, ends the shared servers,
// fails when goroutines are left over, and exits the process.
//
//	func TestMain(m *testing.M) { testserver.Run(m) }
func Run(m *testing.M, opts ...goleak.Option) {
	code := m.Run()
	stopShared()
	if code == 0 {
		if err := goleak.Find(opts...); err != nil {
			fmt.Fprintf(os.Stderr, "testserver: goroutines left after the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// IgnoreServers tells goleak, in a test that checks itself, to overlook the
// goroutines that watch the server processes.
func IgnoreServers() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/cyclone-queue/cyclone/internal/testserver.(*process).supervise")
}
