package testserver

import (
	"os"
	"os/exec"
	"testing"
)

// find returns the path of the server program of a kind. When there is none
// the test is skipped, or failed where the environment says that it must be
// there.
func find(t testing.TB, name string) string {
	t.Helper()
	program := name + "-server"
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if required(name) {
		t.Fatalf("%s is not on PATH, and this environment requires it", program)
	}
	t.Skipf("%s is not on PATH", program)
	return ""
}

func required(name string) bool {
	if name == Valkey {
		return os.Getenv("CYCLONE_REQUIRE_VALKEY") == "1"
	}
	return os.Getenv("CI") == "true"
}
