package testserver

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// masterName is what the Sentinels call the primary.
const masterName = "jobs"

// Sentinel is a primary with replicas that Redis Sentinels watch, which one test
// has to itself.
type Sentinel struct {
	// Primary is the server that was the primary at the start.
	Primary *RealServer
	// Replicas follow it.
	Replicas []*RealServer
	// Watchers are the Sentinels; one of them is enough for a failover.
	Watchers []*RealServer
	// Prefix is for the test's keys.
	Prefix string

	t testing.TB
}

// StartSentinel starts a primary with replicas and the Sentinels that watch them, of
// the kind name, and returns when all know each other and the replicas are in step.
// It ends with the test. args are configuration of the primary as for [Real].
func StartSentinel(t testing.TB, name string, replicas, watchers int, args ...string) *Sentinel {
	t.Helper()
	s := &Sentinel{Prefix: newPrefix(), t: t}
	s.Primary = startReal(t, name, append([]string{"--repl-diskless-sync-delay", "0"}, args...))
	host, port, _ := net.SplitHostPort(s.Primary.Addr())
	for range replicas {
		s.Replicas = append(s.Replicas, s.Primary.Another("--replicaof", host, port, "--repl-diskless-sync-delay", "0"))
	}
	await(t, "the replicas follow", func() error {
		return contains(s.Primary, "replication", "state=online", replicas)
	})
	config := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 15000\nsentinel failover-timeout %[1]s 10000\n",
		masterName, host, port)
	for range watchers {
		s.Watchers = append(s.Watchers, startConfigured(t, name, config, []string{"--sentinel"}))
	}
	for _, w := range s.Watchers {
		await(t, "the Sentinels know all", func() error {
			return contains(w, "sentinel", fmt.Sprintf("status=ok,address=%s,slaves=%d,sentinels=%d", s.Primary.Addr(), replicas, watchers), 1)
		})
	}
	return s
}

// contains returns nil when a section of INFO has the text n times.
func contains(s *RealServer, section, text string, n int) error {
	info, err := s.Client.Info(s.t.Context(), section).Result()
	if err == nil && strings.Count(info, text) != n {
		err = fmt.Errorf("%q is not %d times in %s", text, n, info)
	}
	return err
}

// Addrs returns the Sentinels' host:port.
func (s *Sentinel) Addrs() []string {
	addrs := make([]string, len(s.Watchers))
	for i, w := range s.Watchers {
		addrs[i] = w.Addr()
	}
	return addrs
}

// MasterName is the name by which the Sentinels know the primary.
func (s *Sentinel) MasterName() string { return masterName }

// Options returns fresh options of a client that asks the Sentinels for the primary.
func (s *Sentinel) Options() *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: s.Addrs(), MasterName: masterName}
}

// Failover asks a Sentinel for a planned failover and returns when it tells of
// another primary, with that one's address.
func (s *Sentinel) Failover() string {
	s.t.Helper()
	w := s.Watchers[0]
	before := s.primary()
	await(s.t, "the failover begins", func() error { // a Sentinel that started just now has no replica in mind yet
		return w.Client.Do(s.t.Context(), "SENTINEL", "FAILOVER", masterName).Err()
	})
	var now string
	await(s.t, "there is another primary", func() error {
		if now = s.primary(); now == before {
			return fmt.Errorf("it is still %s", now)
		}
		return nil
	})
	return now
}

// primary is the address of the primary as the first Sentinel has it.
func (s *Sentinel) primary() string {
	s.t.Helper()
	pair, err := s.Watchers[0].Client.Do(s.t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
	if err != nil || len(pair) != 2 {
		s.t.Fatalf("the primary's address: %v (%v)", pair, err)
	}
	return net.JoinHostPort(pair[0], pair[1])
}
