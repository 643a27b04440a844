package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const dying = "CYCLONE_TESTSERVER_DIE"

// TestServerDiesWithTheTests runs this test binary once more, lets it panic
// with a shared server running, and waits for that server's end.
func TestServerDiesWithTheTests(t *testing.T) {
	if os.Getenv(dying) != "" {
		sharedURL(t, Redis)
		fmt.Printf("server %d\n", shared.all[Redis].os.Pid)
		panic("as asked")
	}
	t.Parallel()
	find(t, Redis)
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithTheTests$")
	cmd.Env = append(os.Environ(), dying+"=1", "CYCLONE_TEST_REDIS=", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: as asked") {
		t.Fatalf("the child did not panic: %v\n%s", err, out)
	}
	var pid int
	if _, err := fmt.Sscanf(string(out), "server %d", &pid); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	deadline := time.After(10 * time.Second)
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		select {
		case <-deadline:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the server outlived its tests")
		case <-retry.C:
		}
	}
}
