package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// level is how bad a check is.
type level string

const (
	levelGood level = "ok"
	levelNote level = "note" // good to know
	levelWarn level = "warning"
	levelBad  level = "error"
)

var levelOrder = map[level]int{levelGood: 0, levelNote: 1, levelWarn: 2, levelBad: 3}

// check is one thing that was looked at.
type check struct {
	Server string `json:"server"`
	// Name is stable: version, eviction, memory, persistence, replicas, clock, access.
	Name  string `json:"name"`
	Level level  `json:"level"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
}

// serverView is what a server says about itself, for programs.
type serverView struct {
	Addr              string            `json:"addr"`
	Software          string            `json:"software"`
	Version           string            `json:"version"`
	Mode              string            `json:"mode"`
	UsedMemory        int64             `json:"used_memory_bytes"`
	MaxMemory         int64             `json:"max_memory_bytes"` // 0: no limit
	EvictionPolicy    string            `json:"eviction_policy"`
	AOF               bool              `json:"aof"`
	Fsync             string            `json:"fsync,omitempty"`
	Snapshots         string            `json:"snapshots,omitempty"`
	Replicas          int               `json:"replicas"`
	ClockDifferenceMS float64           `json:"clock_difference_ms"`
	RoundTripMS       float64           `json:"round_trip_ms"`
	Unknown           map[string]string `json:"unknown,omitempty"`
}

func serverOf(s *queue.ServerHealth) serverView {
	return serverView{
		Addr: s.Addr, Software: s.Software, Version: s.Version, Mode: s.Mode, UsedMemory: s.UsedMemory, MaxMemory: s.MaxMemory,
		EvictionPolicy: s.EvictionPolicy, AOF: s.AOF, Fsync: s.Fsync, Snapshots: s.Snapshots, Replicas: s.Replicas,
		ClockDifferenceMS: float64(s.ClockDifference) / 1e6, RoundTripMS: float64(s.RoundTrip) / 1e6, Unknown: s.Unknown,
	}
}

func (s *serverView) describe() string {
	return strings.Join(strings.Fields(s.Software+" "+s.Version+" "+s.Mode), " ")
}

// The oldest server that has what the scripts need.
const oldestMajor, oldestMinor = 6, 2

// clockLimit is how far the server's clock may be off before it is worth a word:
// nothing depends on it but what people read.
const clockLimit = 2 * time.Second

// memoryNear is the share of maxmemory from which on producers will soon be
// refused.
const memoryNear = 0.9

func checkServer(s *queue.ServerHealth) []check {
	var all []check
	add := func(name string, l level, next, format string, args ...any) {
		all = append(all, check{Server: s.Addr, Name: name, Level: l, Text: fmt.Sprintf(format, args...), Next: next})
	}
	known := func(fact string) bool { _, unknown := s.Unknown[fact]; return !unknown }

	if major, minor, ok := versionOf(s.Version); ok {
		if major > oldestMajor || major == oldestMajor && minor >= oldestMinor {
			add("version", levelGood, "", "%s %s", s.Software, s.Version)
		} else {
			add("version", levelBad, "Use Redis 6.2 or later, or Valkey.", "%s %s is too old", s.Software, s.Version)
		}
	}
	checkEviction(s, add)
	checkMemory(s, add)
	if known("append-only file") && known("snapshots") {
		checkPersistence(s, add)
	}
	if s.Replicas > 0 {
		add("replicas", levelGood, "", "%s", terminal.Plural(s.Replicas, "replica", "replicas"))
	} else if known("replicas") {
		add("replicas", levelNote, "With one, and Sentinel or Cluster, jobs go on when this server is lost.", "no replica")
	}
	if off := s.ClockDifference.Abs(); off > clockLimit+s.RoundTrip {
		add("clock", levelWarn, "Leases and start times go by the server's clock alone, so nothing breaks; ages are shown wrong. Set up NTP.",
			"the server's clock differs from this machine's by %s", terminal.Duration(off))
	} else {
		add("clock", levelGood, "", "clock agrees within %s; a round trip takes %s", terminal.Duration(off), terminal.Duration(s.RoundTrip))
	}
	byReason := map[string][]string{}
	for _, fact := range slices.Sorted(maps.Keys(s.Unknown)) {
		byReason[s.Unknown[fact]] = append(byReason[s.Unknown[fact]], fact)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		add("access", levelNote, "The server says: "+reason, "not known: %s", strings.Join(byReason[reason], ", "))
	}
	return all
}

func checkEviction(s *queue.ServerHealth, add func(string, level, string, string, ...any)) {
	switch s.EvictionPolicy {
	case "":
	case "noeviction":
		add("eviction", levelGood, "", "eviction policy noeviction")
	default:
		add("eviction", levelBad, "CONFIG SET maxmemory-policy noeviction, and in the configuration file: any other policy may delete jobs.",
			"eviction policy %s", s.EvictionPolicy)
	}
}

func checkMemory(s *queue.ServerHealth, add func(string, level, string, string, ...any)) {
	used := terminal.Bytes(s.UsedMemory)
	switch {
	case s.MaxMemory == 0 && s.UsedMemory == 0:
	case s.MaxMemory == 0:
		add("memory", levelNote, "With maxmemory set, a backlog is refused at the enqueue before the machine runs out of memory.", "%s used, no limit", used)
	case float64(s.UsedMemory) > memoryNear*float64(s.MaxMemory):
		add("memory", levelWarn, "At the limit enqueues are refused while workers go on: raise maxmemory or add workers.",
			"%s of %s used", used, terminal.Bytes(s.MaxMemory))
	default:
		add("memory", levelGood, "", "%s of %s used", used, terminal.Bytes(s.MaxMemory))
	}
}

func checkPersistence(s *queue.ServerHealth, add func(string, level, string, string, ...any)) {
	switch {
	case s.AOF && s.Fsync == "no":
		add("persistence", levelWarn, "CONFIG SET appendfsync everysec.", "append-only file, synced when the system likes: a power loss can lose half a minute")
	case s.AOF:
		add("persistence", levelGood, "", "append-only file, fsync %s", s.Fsync)
	case s.Snapshots != "":
		add("persistence", levelWarn, "CONFIG SET appendonly yes, and in the configuration file.", "snapshots only (%s): a crash loses what came after the last one", s.Snapshots)
	default:
		add("persistence", levelWarn, "CONFIG SET appendonly yes, and in the configuration file.", "no persistence: a restart loses every job")
	}
}

func versionOf(text string) (major, minor int, ok bool) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return major, minor, err == nil && err2 == nil
}
