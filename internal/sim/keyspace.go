package sim

import (
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"github.com/cyclone-queue/cyclone/internal/dag"
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

	runs     map[string]map[string]string // what is kept of runs of many steps, by id
	journals map[string]map[string]string // of tasks, by step

	steps  map[string]*step          // as of the last settle, by id
	env    map[string]queue.Envelope // decoded bodies, by id
	body   map[string]string         // what env was decoded from
	graphs map[string]*dag.Graph     // of runs of many steps, by id
}

// step is one step as the keys have it, or a run of many steps.
type step struct {
	State
	Left   model.Left
	queue  string
	lane   int
	due    int64  // ms, of what waits
	member string // of its lease, or of the one that was left behind
	until  int64  // ms, when that lease ends
	began  bool   // that lease is marked as started
	env    queue.Envelope
	mark   string // of a node that has ended, or the state of a run of many steps
	bare   bool   // a node that has not ended and whose body somebody has removed
}

func newKeyspace(mini *miniredis.Miniredis, prefix string) *keyspace {
	return &keyspace{mini: mini, prefix: prefix + ":{", shards: map[string]*shard{}}
}

func (ks *keyspace) shard(name string) *shard {
	s := ks.shards[name]
	if s == nil {
		s = &shard{
			hashes: map[string]map[string]string{}, lists: map[string]map[string][]string{}, sets: map[string]map[string]map[string]float64{},
			runs: map[string]map[string]string{}, journals: map[string]map[string]string{},
			steps: map[string]*step{}, env: map[string]queue.Envelope{}, body: map[string]string{}, graphs: map[string]*dag.Graph{},
		}
		ks.shards[name] = s
	}
	return s
}

// sorted are the names of sorted sets, hashed those of hashes. Other keys do not
// matter here.
var (
	sorted = []string{
		"scheduled", "retrying", "snoozed", "waiting", "completed", "discarded", "cancelled", "leased", "waiters", "uniqx",
		"sweep", "runs", "journals", "building",
	}
	hashed = []string{"steps", "ghosts", "tries", "uniq", "uniqof", "results", "history", "sess", "paused"}
)

// parse takes a key apart; the partition is "" for a key of none.
func (ks *keyspace) parse(key string) (partition, name, rest string) {
	rest, ok := strings.CutPrefix(key, ks.prefix)
	if !ok {
		return "", "", ""
	}
	partition, name, ok = strings.Cut(rest, "}:")
	if !ok {
		return "", "", ""
	}
	name, rest, _ = strings.Cut(name, ":")
	return partition, name, rest
}

// partition returns the partition that a key belongs to, "" for none.
func (ks *keyspace) partition(key string) string {
	partition, _, _ := ks.parse(key)
	if partition != "" {
		ks.shard(partition)
	}
	return partition
}

// reload reads one key again and returns the partition that it belongs to, "" for
// none.
func (ks *keyspace) reload(key string) string {
	partition, name, queueName := ks.parse(key)
	if partition == "" {
		return ""
	}
	s := ks.shard(partition)
	switch {
	case name == "run":
		keep(s.runs, queueName, ks.hash(key))
	case name == "journal":
		keep(s.journals, queueName, ks.hash(key))
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

// keep notes what a hash holds, nothing for none.
func keep(all map[string]map[string]string, id string, hash map[string]string) {
	if all[id] = hash; len(hash) == 0 {
		delete(all, id)
	}
}

// graphCodec is that of a run of many steps.
const graphCodec = 3

// decode reads the bodies that have changed.
func (s *shard) decode() {
	bodies := s.hashes["steps"]
	for id := range s.body {
		if _, ok := bodies[id]; !ok {
			delete(s.body, id)
			delete(s.env, id)
			delete(s.graphs, id)
		}
	}
	for id, body := range bodies {
		if s.body[id] != body {
			var env queue.Envelope
			if err := env.Decode([]byte(body)); err != nil {
				panic(err) // every writer of this simulation is of this version
			}
			s.body[id], s.env[id] = body, env
			if env.Codec == graphCodec {
				g, err := dag.Decode(env.Payload)
				if err != nil {
					panic(err)
				}
				s.graphs[id] = g
			}
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

var waitingSets = map[string]State{"scheduled": Scheduled, "retrying": Retrying, "snoozed": Snoozed, "waiting": Suspended}
var endedSets = map[string]State{"completed": Completed, "discarded": Discarded, "cancelled": Cancelled}

const laneLetters = "hdl"
