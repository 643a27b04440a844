package sim

import (
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"github.com/cyclone-queue/cyclone/internal/model"
	"github.com/cyclone-queue/cyclone/queue"
)

// keyspace mirrors what is stored, partition by partition. It is read from the
// server itself: after a script, the keys that the script had declared.
type keyspace struct {
	mini   *miniredis.Miniredis
	prefix string
	shards map[string]*shard
}

// shard is one partition.
type shard struct {
	hashes map[string]map[string]string             // by name
	lists  map[string]map[string][]string           // by queue and lane letter
	sets   map[string]map[string]map[string]float64 // by name and queue

	steps map[string]*step          // as of the last settle, by id
	env   map[string]queue.Envelope // decoded bodies, by id
	body  map[string]string         // what env was decoded from
}

// step is one step as the keys have it.
type step struct {
	model.State
	Left   model.Left
	queue  string
	lane   int
	due    int64  // ms, of what waits
	member string // of its lease, or of the one that was left behind
	until  int64  // ms, when that lease ends
	began  bool   // that lease is marked as started
	env    queue.Envelope
}

func newKeyspace(mini *miniredis.Miniredis, prefix string) *keyspace {
	return &keyspace{mini: mini, prefix: prefix + ":{", shards: map[string]*shard{}}
}

func (ks *keyspace) shard(name string) *shard {
	s := ks.shards[name]
	if s == nil {
		s = &shard{
			hashes: map[string]map[string]string{}, lists: map[string]map[string][]string{}, sets: map[string]map[string]map[string]float64{},
			steps: map[string]*step{}, env: map[string]queue.Envelope{}, body: map[string]string{},
		}
		ks.shards[name] = s
	}
	return s
}

// sorted are the names of sorted sets, hashed those of hashes. Other keys do not
// matter here.
var (
	sorted = []string{"scheduled", "retrying", "snoozed", "completed", "discarded", "cancelled", "leased", "waiters", "uniqx"}
	hashed = []string{"steps", "ghosts", "tries", "uniq", "uniqof", "results", "history", "sess", "paused"}
)

// reload reads one key again and returns the partition that it belongs to, "" for
// none.
func (ks *keyspace) reload(key string) string {
	rest, ok := strings.CutPrefix(key, ks.prefix)
	if !ok {
		return ""
	}
	partition, name, ok := strings.Cut(rest, "}:")
	if !ok {
		return ""
	}
	s := ks.shard(partition)
	name, queueName, _ := strings.Cut(name, ":")
	switch {
	case name == "ready":
		queueName, lane, _ := strings.Cut(queueName, ":")
		if s.lists[queueName] == nil {
			s.lists[queueName] = map[string][]string{}
		}
		s.lists[queueName][lane], _ = ks.mini.List(key)
	case slices.Contains(sorted, name):
		if s.sets[name] == nil {
			s.sets[name] = map[string]map[string]float64{}
		}
		s.sets[name][queueName], _ = ks.mini.SortedSet(key)
	case slices.Contains(hashed, name):
		s.hashes[name] = ks.hash(key)
		if name == "steps" {
			s.decode()
		}
	}
	return partition
}

// decode reads the bodies that have changed.
func (s *shard) decode() {
	bodies := s.hashes["steps"]
	for id := range s.body {
		if _, ok := bodies[id]; !ok {
			delete(s.body, id)
			delete(s.env, id)
		}
	}
	for id, body := range bodies {
		if s.body[id] != body {
			var env queue.Envelope
			if err := env.Decode([]byte(body)); err != nil {
				panic(err) // every writer of this simulation is of this version
			}
			s.body[id], s.env[id] = body, env
		}
	}
}

func (ks *keyspace) hash(key string) map[string]string {
	fields, err := ks.mini.HKeys(key)
	if err != nil {
		return nil
	}
	h := make(map[string]string, len(fields))
	for _, f := range fields {
		h[f] = ks.mini.HGet(key, f)
	}
	return h
}

var waitingSets = map[string]model.State{"scheduled": model.Scheduled, "retrying": model.Retrying, "snoozed": model.Snoozed}
var endedSets = map[string]model.State{"completed": model.Completed, "discarded": model.Discarded, "cancelled": model.Cancelled}

const laneLetters = "hdl"
