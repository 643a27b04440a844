package testserver

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// shared holds the real servers that all tests of this binary use, by name.
var shared = struct {
	mu  sync.Mutex
	all map[string]*process
}{all: map[string]*process{}}

// sharedURL returns the address of the shared server of a kind, which it
// starts if it does not run yet.
func sharedURL(t testing.TB, name string) string {
	t.Helper()
	if url := os.Getenv("CYCLONE_TEST_REDIS"); url != "" && name == Redis {
		checkGiven(t, url)
		return url
	}
	path := find(t, name)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if p := shared.all[name]; p != nil {
		return p.url()
	}
	p, err := newProcess(path)
	if err != nil {
		t.Fatal(err)
	}
	shared.all[name] = p
	return p.url()
}

// checkGiven fails the test when the server named in the environment is not
// there: someone asked for it, so a skip would hide the mistake.
func checkGiven(t testing.TB, url string) {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("CYCLONE_TEST_REDIS: %v", err)
	}
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	if err := c.Ping(context.Background()).Err(); err != nil {
		t.Fatalf("CYCLONE_TEST_REDIS: %v", err)
	}
}

// stopShared ends the shared servers and removes their directories.
func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for name, p := range shared.all {
		p.discard()
		delete(shared.all, name)
	}
}
