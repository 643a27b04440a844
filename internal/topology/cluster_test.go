package topology_test

import (
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	for _, name := range []string{testserver.Redis, testserver.Valkey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testserver.StartCluster(t, name, 3)
			s := &site{TB: t, options: c.Options, prefix: c.Prefix, partitions: 16, env: map[string]string{
				"CYCLONE_CLUSTER": strings.Join(c.Addrs(), ","), "CYCLONE_PREFIX": c.Prefix,
			}}
			for _, node := range c.Nodes {
				node.Client.ConfigResetStat(t.Context()) // what the test's own client has asked for in vain
			}
			s.open()
			s.story()
			for _, node := range c.Nodes {
				s.local(node)
			}
			health, err := s.client.Health(t.Context())
			if err != nil || len(health.Servers) != 3 || health.Partitions != 16 {
				t.Errorf("health %+v (%v)", health, err)
			}
		})
	}
}

// local fails the test when a server has refused a script or a command for its keys,
// or has nothing to do.
func (s *site) local(node *testserver.RealServer) {
	s.Helper()
	stats := must(node.Client.Info(s.Context(), "errorstats").Result())(s)
	for line := range strings.Lines(stats) {
		name, _, ok := strings.Cut(strings.TrimPrefix(line, "errorstat_"), ":")
		if ok && name != "MOVED" && name != "NOSCRIPT" {
			s.Errorf("%s has answered %s", node.Addr(), strings.TrimSpace(line))
		}
	}
	if n := must(node.Client.DBSize(s.Context()).Result())(s); n == 0 {
		s.Errorf("%s has no keys", node.Addr())
	}
}
