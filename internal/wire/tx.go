package wire

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// TxKind says what an operation of a completion transaction does.
type TxKind byte

// The operations that write keys.
const (
	TxSet       TxKind = 's' // Key = Values[0], for TTL if above zero
	TxDelete    TxKind = 'd' // Key
	TxIncrBy    TxKind = 'i' // Key by Delta
	TxHashSet   TxKind = 'h' // Key's field Values[0] = Values[1]
	TxSetAdd    TxKind = 'a' // Values into the set Key
	TxListPush  TxKind = 'p' // Values behind the list Key
	txFollowUp  TxKind = 'f'
	txRun       TxKind = 'r'
	txSignalRun TxKind = 'g'
)

// TxOp is one write to a key.
type TxOp struct {
	Kind   TxKind
	Key    string
	Values []string
	Delta  int64
	TTL    time.Duration
}

// TxSignal is a signal that is sent with the completion.
type TxSignal struct {
	Run     int64
	Name    string
	Codec   uint8
	Payload []byte
}

// Tx collects what a completion writes besides itself. What is wrong with an
// operation is returned where it is added, and kept: an attempt whose transaction
// has a fault cannot complete. It is safe for concurrent use.
type Tx struct {
	// Namespace begins every key of the deployment, Base the keys that Key makes.
	Namespace, Base string
	// Tag is the hash tag that keys must have, "" when they need none.
	Tag string
	// Here tells whether a run lives on the partition of this one.
	Here func(run int64) bool
	// Encode encodes an input or a signal's payload.
	Encode func(v any) (codec uint8, payload []byte, err error)
	// Prepare checks and encodes a run of many steps. The error is a [RunFaults] with
	// those that the spec had, if it had any.
	Prepare func(spec *RunSpec) (prepared any, err error)

	mu      sync.Mutex
	ops     []TxOp
	follow  []TxFollowUp
	runs    []TxRun
	signals []TxSignal
	bytes   int
	nodes   int
	faults  []error
}

// Content is what was added to a transaction.
type Content struct {
	Ops       []TxOp
	FollowUps []TxFollowUp
	Runs      []TxRun
	Signals   []TxSignal
}

// Empty reports whether there is nothing in it.
func (c *Content) Empty() bool {
	return c == nil || len(c.Ops)+len(c.FollowUps)+len(c.Runs)+len(c.Signals) == 0
}

// Close returns what was added, or every fault there was. Nothing can be added any
// more.
func (tx *Tx) Close() (*Content, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	err := errors.Join(tx.faults...)
	c := &Content{Ops: tx.ops, FollowUps: tx.follow, Runs: tx.runs, Signals: tx.signals}
	tx.faults = append(tx.faults, errTxOver)
	return c, err
}

var errTxOver = errors.New("cyclone: completion transaction: the handler has returned")

// Key returns the key that the name stands for: on the run's partition, and of no
// use to Cyclone itself.
func (tx *Tx) Key(name string) string { return tx.Base + name }

// Set adds a write of a string that lives for ttl, or for ever when ttl is 0.
func (tx *Tx) Set(key, value string, ttl time.Duration) error {
	if ttl != 0 && (ttl < time.Millisecond || ttl > retry.MaxDelay) {
		return tx.refuse(TxSet, fmt.Errorf("ttl %v: must be 0 for none, or at least 1ms and at most 100 years", ttl))
	}
	return tx.write(TxOp{Kind: TxSet, Key: key, Values: []string{value}, TTL: ttl})
}

// Delete adds the removal of a key.
func (tx *Tx) Delete(key string) error { return tx.write(TxOp{Kind: TxDelete, Key: key}) }

// IncrBy adds the addition of n to the integer at key.
func (tx *Tx) IncrBy(key string, n int64) error {
	return tx.write(TxOp{Kind: TxIncrBy, Key: key, Delta: n})
}

// HashSet adds a write of a field of a hash.
func (tx *Tx) HashSet(key, field, value string) error {
	if err := checkSize("field", field); err != nil {
		return tx.refuse(TxHashSet, err)
	}
	return tx.write(TxOp{Kind: TxHashSet, Key: key, Values: []string{field, value}})
}

// SetAdd adds members to a set.
func (tx *Tx) SetAdd(key string, members ...string) error {
	return tx.writeMany(TxSetAdd, key, "members", members)
}

// ListPush adds values behind a list.
func (tx *Tx) ListPush(key string, values ...string) error {
	return tx.writeMany(TxListPush, key, "values", values)
}

func (tx *Tx) writeMany(kind TxKind, key, what string, values []string) error {
	if len(values) == 0 || len(values) > MaxTxOps {
		return tx.refuse(kind, fmt.Errorf("%d %s: must be 1 to %d", len(values), what, MaxTxOps))
	}
	return tx.write(TxOp{Kind: kind, Key: key, Values: append([]string(nil), values...)})
}

// Signal adds a signal to a run of the same partition.
func (tx *Tx) Signal(run int64, name string, payload any) error {
	if err := CheckName("signal", name); err != nil {
		return tx.refuse(txSignalRun, err)
	}
	if run <= 0 || !tx.Here(run) {
		return tx.refuse(txSignalRun, fmt.Errorf("run %d lives on another partition than this one: signal it with the client instead", run))
	}
	codec, encoded, err := tx.Encode(payload)
	if err == nil && len(encoded) > MaxSignal {
		err = fmt.Errorf("%d bytes: must be at most %d", len(encoded), MaxSignal)
	}
	if err != nil {
		return tx.refuse(txSignalRun, fmt.Errorf("payload of signal %s: %w", name, err))
	}
	s := TxSignal{Run: run, Name: name, Codec: codec, Payload: encoded}
	return tx.add(txSignalRun, len(name)+len(encoded), func() { tx.signals = append(tx.signals, s) })
}

// write adds a write to a key after looking at the key.
func (tx *Tx) write(op TxOp) error {
	if err := tx.checkKey(op.Key); err != nil {
		return tx.refuse(op.Kind, err)
	}
	size := len(op.Key)
	for _, v := range op.Values {
		size += len(v)
	}
	return tx.add(op.Kind, size, func() { tx.ops = append(tx.ops, op) })
}

func (tx *Tx) checkKey(key string) error {
	if err := checkSize("key", key); err != nil {
		return err
	}
	if !strings.HasPrefix(key, tx.Base) && strings.HasPrefix(key, tx.Namespace) {
		return fmt.Errorf("key %.80q: it belongs to Cyclone: name it with Key(%q)", key, "your name")
	}
	if tx.Tag != "" && hashTag(key) != tx.Tag {
		return fmt.Errorf("key %.80q: on a Redis Cluster it must live on the run's partition: name it with Key(%.40q), or put {%s} into it", key, key, tx.Tag)
	}
	return nil
}

func checkSize(what, s string) error {
	if len(s) == 0 || len(s) > MaxTxKey {
		return fmt.Errorf("%s of %d bytes: must be 1 to %d bytes", what, len(s), MaxTxKey)
	}
	return nil
}

// hashTag is the part of a key that a Redis Cluster places it by, or the key itself.
func hashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// add applies the limits and then the operation.
func (tx *Tx) add(kind TxKind, size int, apply func()) error {
	return tx.addNodes(kind, size, 0, apply)
}

// addNodes is add for an operation that enqueues so many nodes.
func (tx *Tx) addNodes(kind TxKind, size, nodes int, apply func()) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	switch n := len(tx.ops) + len(tx.follow) + len(tx.runs) + len(tx.signals) + 1; {
	case len(tx.faults) > 0 && tx.faults[len(tx.faults)-1] == errTxOver:
		return errTxOver
	case n > MaxTxOps:
		return tx.fault(kind, fmt.Errorf("operation %d: must be at most %d", n, MaxTxOps))
	case tx.bytes+size > MaxTxBytes:
		return tx.fault(kind, fmt.Errorf("%d bytes in all: must be at most %d", tx.bytes+size, MaxTxBytes))
	case tx.nodes+nodes > MaxNodes:
		return tx.fault(kind, fmt.Errorf("%d nodes in all: must be at most %d", tx.nodes+nodes, MaxNodes))
	}
	tx.bytes += size
	tx.nodes += nodes
	apply()
	return nil
}

func (tx *Tx) refuse(kind TxKind, err error) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return tx.fault(kind, err)
}

// fault keeps the error. The mutex is held.
func (tx *Tx) fault(kind TxKind, err error) error {
	err = fmt.Errorf("cyclone: completion transaction: %s: %w", kind.verb(), err)
	tx.faults = append(tx.faults, err)
	return err
}

// verb is the name of the method that adds the operation.
func (k TxKind) verb() string {
	switch k {
	case TxSet:
		return "Set"
	case TxDelete:
		return "Delete"
	case TxIncrBy:
		return "IncrBy"
	case TxHashSet:
		return "HashSet"
	case TxSetAdd:
		return "SetAdd"
	case TxListPush:
		return "ListPush"
	case txFollowUp:
		return "Enqueue"
	case txRun:
		return "EnqueueTx"
	}
	return "Signal"
}
