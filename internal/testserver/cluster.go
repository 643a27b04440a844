package testserver

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// clusterSlots is how many slots a cluster shares out.
const clusterSlots = 16384

// Cluster is a Redis Cluster that one test has to itself.
type Cluster struct {
	// Nodes are its primaries, each with an equal share of the slots.
	Nodes []*RealServer
	// Prefix is for the test's keys.
	Prefix string
}

// StartCluster starts a Redis Cluster of n primaries without replicas, of the kind
// name, and returns when every node knows that all slots are served. It ends with
// the test. args are configuration as for [Real].
func StartCluster(t testing.TB, name string, n int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{Prefix: newPrefix()}
	for i := range n {
		node := startReal(t, name, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "15000"}, args...))
		c.Nodes = append(c.Nodes, node)
		node.must("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		slots := []any{"CLUSTER", "ADDSLOTS"} // Redis 6.2 takes no range of them
		for slot := i * clusterSlots / n; slot < (i+1)*clusterSlots/n; slot++ {
			slots = append(slots, slot)
		}
		node.must(slots...)
	}
	for i, node := range c.Nodes {
		if next := c.Nodes[(i+1)%n]; next != node {
			host, port, _ := net.SplitHostPort(node.Addr())
			next.must("CLUSTER", "MEET", host, port)
		}
	}
	for _, node := range c.Nodes {
		await(t, "the cluster is complete", func() error {
			info, err := node.Client.ClusterInfo(t.Context()).Result()
			if err != nil {
				return err
			}
			for _, line := range []string{"cluster_state:ok", fmt.Sprintf("cluster_known_nodes:%d", n), fmt.Sprintf("cluster_size:%d", n)} {
				if !strings.Contains(info, line+"\r\n") {
					return fmt.Errorf("no %s in %s", line, info)
				}
			}
			return nil
		})
	}
	return c
}

// Addrs returns the nodes' host:port.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// Options returns fresh options of a client for the cluster.
func (c *Cluster) Options() *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: c.Addrs(), IsClusterMode: true}
}

// must sends a command of administration.
func (s *RealServer) must(args ...any) {
	s.t.Helper()
	if err := s.Client.Do(s.t.Context(), args...).Err(); err != nil {
		s.t.Fatalf("%v: %v", args[:min(len(args), 4)], err)
	}
}
