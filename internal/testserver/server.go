package testserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/embedded"
)

// Names of the kinds of server.
const (
	Miniredis = "miniredis"
	Redis     = "redis"
	Valkey    = "valkey"
)

// Server is a server as one test sees it.
type Server struct {
	Name   string                // Miniredis, Redis or Valkey
	Client redis.UniversalClient // closed when the test ends
	Prefix string                // keys under it are this test's own; removed when it ends
	URL    string                // redis:// address, for programs that take one

	// Embedded is the embedded server, which this test has to itself; nil on
	// real servers.
	Embedded *embedded.Server
}

// Each runs f as one subtest per kind of server. f calls t.Parallel itself if
// it can run beside others.
func Each(t *testing.T, f func(t *testing.T, s Server)) {
	t.Helper()
	t.Run(Miniredis, func(t *testing.T) {
		e, err := embedded.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		s := newServer(t, Miniredis, e.URL())
		s.Embedded = e
		f(t, s)
	})
	for _, name := range []string{Redis, Valkey} {
		t.Run(name, func(t *testing.T) { f(t, newServer(t, name, sharedURL(t, name))) })
	}
}

func newServer(t testing.TB, name, url string) Server {
	t.Helper()
	s := Server{Name: name, URL: url, Prefix: newPrefix()}
	s.Client = s.NewClient(t)
	t.Cleanup(func() { s.sweep(t) })
	return s
}

// Options returns fresh options of a client for this server: go-redis'
// defaults, as a user has them.
func (s Server) Options() *redis.Options {
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		panic(err) // checked when the server was made
	}
	return o
}

// NewClient returns one more client for this server, with connections of its
// own, closed when the test ends.
func (s Server) NewClient(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Keys returns the sorted names of every key under the test's prefix.
func (s Server) Keys(ctx context.Context) ([]string, error) {
	var keys []string
	it := s.Client.Scan(ctx, 0, s.Prefix+":*", 1000).Iterator()
	for it.Next(ctx) {
		keys = append(keys, it.Val())
	}
	slices.Sort(keys)
	return slices.Compact(keys), it.Err() // SCAN may name a key twice
}

func (s Server) sweep(t testing.TB) {
	if s.Embedded != nil {
		return // goes away as a whole
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	keys, err := s.Keys(ctx)
	for chunk := range slices.Chunk(keys, 500) {
		if err == nil {
			err = s.Client.Unlink(ctx, chunk...).Err()
		}
	}
	if err != nil {
		t.Errorf("testserver: removing the test's keys: %v", err)
	}
}

func newPrefix() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return "t" + hex.EncodeToString(b)
}
