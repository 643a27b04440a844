package queue

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// facts are what one server tells about itself: INFO and CONFIG GET under their
// own names.
type facts struct {
	known   map[string]string
	missing string // why a fact may be missing
	unknown map[string]string
}

// configured are the settings that INFO does not tell.
var configured = []string{"maxmemory-policy", "maxmemory", "appendonly", "appendfsync", "save"}

// askServer reads the facts of one server. The error is that of the connection.
func askServer(ctx context.Context, rdb *redis.Client) (ServerHealth, error) {
	f := facts{known: make(map[string]string), unknown: make(map[string]string), missing: "the server does not tell"}
	s := ServerHealth{Addr: rdb.Options().Addr}
	began := time.Now()
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return s, err
	}
	s.RoundTrip = time.Since(began)
	s.ClockDifference = now.Sub(began.Add(s.RoundTrip / 2))
	if info, err := rdb.Info(ctx).Result(); err != nil {
		f.missing = err.Error()
	} else {
		f.addInfo(info)
	}
	for _, name := range configured {
		if values, err := rdb.ConfigGet(ctx, name).Result(); err != nil {
			f.missing = err.Error()
		} else if value, ok := values[name]; ok {
			f.known[name] = value
		}
	}
	f.fill(&s)
	return s, nil
}

// addInfo reads the lines `name:value` of INFO.
func (f *facts) addInfo(info string) {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(name, "#") {
			f.known[name] = value
		}
	}
}

// text returns the first of the names that is known. fact is what users call it.
func (f *facts) text(fact string, names ...string) string {
	for _, name := range names {
		if value, ok := f.known[name]; ok {
			return value
		}
	}
	f.unknown[fact] = f.missing
	return ""
}

func (f *facts) number(fact string, names ...string) int64 {
	n, _ := strconv.ParseInt(f.text(fact, names...), 10, 64)
	return n
}

func (f *facts) fill(s *ServerHealth) {
	s.Software = "redis"
	if name := f.known["server_name"]; name != "" {
		s.Software = name // Valkey says so, and which Redis it stands in for
	}
	if s.Version = f.text("version", s.Software+"_version", "redis_version"); s.Version == "" {
		s.Software = ""
	}
	s.Mode = f.text("mode", "server_mode", "redis_mode")
	s.UsedMemory = f.number("used memory", "used_memory")
	s.MaxMemory = f.number("memory limit", "maxmemory")
	s.EvictionPolicy = f.text("eviction policy", "maxmemory-policy", "maxmemory_policy")
	aof := f.text("append-only file", "appendonly", "aof_enabled")
	s.AOF = aof == "yes" || aof == "1"
	s.Fsync = f.text("fsync", "appendfsync")
	s.Snapshots = f.text("snapshots", "save")
	s.Replicas = int(f.number("replicas", "connected_slaves"))
	if len(f.unknown) > 0 {
		s.Unknown = f.unknown
	}
}
