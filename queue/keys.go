package queue

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// maxPartitions bounds a deployment's partitions: run ids carry the number in
// their low bits, and workers visit them in turn.
const maxPartitions = 4096

// maxCachedQueues bounds the queues whose keys a partition remembers. Names
// beyond it work, at the price of building their keys each time.
const maxCachedQueues = 4096

// laneCount is the number of priority lanes; laneLetters names them in keys, by
// their number on the wire.
const (
	laneCount   = 3
	laneLetters = "hdl"
)

// keyspace builds every key and channel of a deployment; no other function
// builds one. All begin with the prefix, and all keys of a partition carry its
// number as their hash tag: `<prefix>:{<p>}:<name>[:<queue>[:<lane>]]`. Safe for
// concurrent use.
type keyspace struct {
	prefix     string
	partitions []*partitionKeys
}

// newKeyspace returns the keys of a deployment with the given prefix (names'
// grammar) and number of partitions, a power of two from 1 to 4096.
func newKeyspace(prefix string, partitions int) (*keyspace, error) {
	if !wire.ValidName(prefix) {
		return nil, fmt.Errorf("queue: prefix %q %s", prefix, wire.NameRule)
	}
	if partitions < 1 || partitions > maxPartitions || partitions&(partitions-1) != 0 {
		return nil, fmt.Errorf("queue: %d partitions: must be a power of two from 1 to %d", partitions, maxPartitions)
	}
	ks := &keyspace{prefix: prefix, partitions: make([]*partitionKeys, partitions)}
	for p := range ks.partitions {
		ks.partitions[p] = newPartitionKeys(prefix, p)
	}
	return ks, nil
}

// meta is a hash: the schema's version and the number of partitions. It is the
// one key without a partition.
func (ks *keyspace) meta() string { return ks.prefix + ":meta" }

// wake is the channel on which one worker is told the number of a partition that
// has work for it.
func (ks *keyspace) wake(worker string) string { return ks.prefix + ":wake:" + worker }

// partition returns the keys of partition p, 0 ≤ p < the number of partitions.
func (ks *keyspace) partition(p int) *partitionKeys { return ks.partitions[p] }

// of returns the keys of the partition on which a run lives: its id's low bits.
func (ks *keyspace) of(runID int64) *partitionKeys {
	return ks.partitions[runID&int64(len(ks.partitions)-1)]
}

// partitionKeys holds one partition's keys, built once: on the hot path a key
// costs a field load.
type partitionKeys struct {
	base  string // `<prefix>:{<p>}:`
	fixed [len(fixedNames)]string

	mu      sync.RWMutex
	byQueue map[string]*queueKeys
}

func newPartitionKeys(prefix string, p int) *partitionKeys {
	pk := &partitionKeys{
		base:    prefix + ":{" + strconv.Itoa(p) + "}:",
		byQueue: make(map[string]*queueKeys),
	}
	for i, name := range fixedNames {
		pk.fixed[i] = pk.base + name
	}
	return pk
}

// fixedNames are the names without a queue, in the order of the constants below.
var fixedNames = [...]string{
	"steps", "ids", "ghosts", "tries", "sess", "sessx", "uniq", "uniqof", "uniqx",
	"results", "history", "workers", "queues", "paused", "stats", "subs", "events", "cancel",
	"sweep", "runs", "journals", "building", "offers", "handed",
}

const (
	keySteps = iota
	keyIDs
	keyGhosts
	keyTries
	keySess
	keySessX
	keyUniq
	keyUniqOf
	keyUniqX
	keyResults
	keyHistory
	keyWorkers
	keyQueues
	keyPaused
	keyStats
	keySubs
	keyEvents
	keyCancel
	keySweep
	keyRuns
	keyJournals
	keyBuilding
	keyOffers
	keyHanded
)

// offers is a hash: worker that offers a slot → token and lease of a step that is
// handed over to it.
func (pk *partitionKeys) offers() string { return pk.fixed[keyOffers] }

// handed is a hash: worker → the step that was handed over to it, until its next turn.
func (pk *partitionKeys) handed() string { return pk.fixed[keyHanded] }

// steps is a hash: id, or run.node of a run of many steps, → envelope. The
// envelope under the id of a run of many steps holds its graph.
func (pk *partitionKeys) steps() string { return pk.fixed[keySteps] }

// ids is a counter: the last sequence number that was handed out to a client for
// its block of run ids.
func (pk *partitionKeys) ids() string { return pk.fixed[keyIDs] }

// ghosts is a hash: id → x (drop it when it is next taken out of an index) or r
// (put it back into ready), and its queue.
func (pk *partitionKeys) ghosts() string { return pk.fixed[keyGhosts] }

// tries is a hash: id → lost leases started, lost unstarted, interruptions, the
// operator's attempt limit, lost leases forgiven.
func (pk *partitionKeys) tries() string { return pk.fixed[keyTries] }

// sess is a hash with padding: session lane → last sequence number and answer.
func (pk *partitionKeys) sess() string { return pk.fixed[keySess] }

// sessx is a sorted set: session lane → when it was last seen, ms.
func (pk *partitionKeys) sessx() string { return pk.fixed[keySessX] }

// uniq is a hash: digest of a unique key → id of its holder.
func (pk *partitionKeys) uniq() string { return pk.fixed[keyUniq] }

// uniqof is a hash: id → how it holds which digest.
func (pk *partitionKeys) uniqof() string { return pk.fixed[keyUniqOf] }

// uniqx is a sorted set: digest → when its scope ends, ms.
func (pk *partitionKeys) uniqx() string { return pk.fixed[keyUniqX] }

// results is a hash: id → output, kept for its retention.
func (pk *partitionKeys) results() string { return pk.fixed[keyResults] }

// history is a hash: id → bounded history that others than the lease's holder
// write.
func (pk *partitionKeys) history() string { return pk.fixed[keyHistory] }

// workers is a hash: worker → what it says about itself with each heartbeat.
func (pk *partitionKeys) workers() string { return pk.fixed[keyWorkers] }

// queues is a hash: queue that has had steps here → when it first had, ms.
func (pk *partitionKeys) queues() string { return pk.fixed[keyQueues] }

// paused is a hash: queue that nothing is claimed from → since when, ms.
func (pk *partitionKeys) paused() string { return pk.fixed[keyPaused] }

// stats is a hash: `<minute>:<verb>` and `total:<verb>` → transitions.
func (pk *partitionKeys) stats() string { return pk.fixed[keyStats] }

// subs exists while somebody subscribes to events; without it none is published.
func (pk *partitionKeys) subs() string { return pk.fixed[keySubs] }

// events is the channel of step events, one message a batch.
func (pk *partitionKeys) events() string { return pk.fixed[keyEvents] }

// cancel is the channel that tells workers of cancelled steps.
func (pk *partitionKeys) cancel() string { return pk.fixed[keyCancel] }

// sweep is a sorted set: work of runs of many steps that is done in chunks → when
// it is due, ms.
func (pk *partitionKeys) sweep() string { return pk.fixed[keySweep] }

// runs is a sorted set: run of many steps that has ended → until when it is kept, ms.
func (pk *partitionKeys) runs() string { return pk.fixed[keyRuns] }

// journals is a sorted set: step with a journal → when that was begun, ms.
func (pk *partitionKeys) journals() string { return pk.fixed[keyJournals] }

// building is a sorted set: run that is stored in chunks and not complete yet →
// when it is given up, ms.
func (pk *partitionKeys) building() string { return pk.fixed[keyBuilding] }

// run is a hash: the state of one run of many steps, in plain fields.
func (pk *partitionKeys) run(id string) string { return pk.base + "run:" + id }

// journal is a hash: the records of one task, and the signals of a run of one.
func (pk *partitionKeys) journal(step string) string { return pk.base + "journal:" + step }

// queueKeys holds the keys of one queue on one partition. The sorted sets hold
// ids; those that wait for a time score it as `ms*16 + lane`.
type queueKeys struct {
	// ready are the lists that claims pop from, by lane: high, default, low.
	ready [laneCount]string
	// scheduled, retrying, snoozed and waiting are due indexes, one a state.
	scheduled, retrying, snoozed, waiting string
	// leased is the running state: `id:token` by the lease's expiry,
	// `ms*16 + lane*2 + started`, and one padding member.
	leased string
	// completed, discarded and cancelled are the terminal indexes, by time.
	completed, discarded, cancelled string
	// waiters are workers that wait to be woken, by the registration's expiry.
	waiters string
}

// queue returns the keys of the named queue, which must be a valid name. They
// are built on first use; after that the call allocates nothing.
func (pk *partitionKeys) queue(name string) *queueKeys {
	pk.mu.RLock()
	qk := pk.byQueue[name]
	pk.mu.RUnlock()
	if qk != nil {
		return qk
	}
	qk = newQueueKeys(pk.base, name)
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if known := pk.byQueue[name]; known != nil {
		return known
	}
	if len(pk.byQueue) < maxCachedQueues {
		pk.byQueue[strings.Clone(name)] = qk
	}
	return qk
}

func newQueueKeys(base, queue string) *queueKeys {
	qk := &queueKeys{
		scheduled: base + "scheduled:" + queue,
		retrying:  base + "retrying:" + queue,
		snoozed:   base + "snoozed:" + queue,
		waiting:   base + "waiting:" + queue,
		leased:    base + "leased:" + queue,
		completed: base + "completed:" + queue,
		discarded: base + "discarded:" + queue,
		cancelled: base + "cancelled:" + queue,
		waiters:   base + "waiters:" + queue,
	}
	for lane := range qk.ready {
		qk.ready[lane] = base + "ready:" + queue + ":" + laneLetters[lane:lane+1]
	}
	return qk
}
