package queue

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

var (
	// ErrEnvelopeVersion is returned when a stored step was written in a layout
	// that this program does not know, by a newer one as a rule. Nothing was
	// changed: such a step is left for a program that can read it.
	ErrEnvelopeVersion = errors.New("queue: envelope of an unknown version")
	// ErrEnvelopeMalformed is returned when a stored step is no envelope at all,
	// or one of a known version with something in it that no writer puts there.
	// It will not get better by itself.
	ErrEnvelopeMalformed = errors.New("queue: malformed envelope")
)

const (
	// envelopeVersion is the layout that Append writes. Any change to the array
	// below takes a new number, a longer array too: what an older program does
	// not know it must leave alone.
	envelopeVersion = 1

	// What fits Redis' scores and Lua's numbers is below 2⁵³.
	maxStoredInt = 1<<53 - 1
)

// The envelope is a MessagePack array. Elements up to slotEnqueued are always
// there, later ones only as far as the last one that differs from its default:
//
//	0 version  1 kind  2 codec  3 payload  4 enqueued ms
//	5 queue  6 node  7 priority  8 failures  9 options  10 meta (k, v, k, v …)
//	11 digest  12 snoozes  13 lost leases counted  14 history
//	15 part of a run of many steps  16 parent  17 discards
const (
	slotEnqueued = 4
	slotQueue    = 5
	slotNode     = 6
	slotPriority = 7
	slotFailures = 8
	slotOptions  = 9
	slotMeta     = 10
	slotDigest   = 11
	slotSnoozes  = 12
	slotLostSeen = 13
	slotHistory  = 14
	slotPart     = 15
	slotParent   = 16
	slotDiscards = 17
	slotCount    = 18
)

// Envelope is one stored step: what to run, with what, and what has happened to
// it so far. Times are milliseconds since 1970. Whoever holds the step's lease
// is its only writer; a value is not safe for concurrent use.
type Envelope struct {
	// Version is the layout that was decoded. Append ignores it and writes the
	// current one.
	Version int
	// Kind names the definition, Node the step inside its run (empty means: like
	// Kind), Queue where it waits (empty means: default).
	Kind, Node, Queue string
	Priority          wire.Priority
	// Codec is the id of the codec that wrote Payload: 0 none, 1 MessagePack,
	// 2 JSON, 16 and up the user's own.
	Codec uint8
	// Payload aliases the bytes given to Decode.
	Payload    []byte
	EnqueuedMs int64

	// Failures counts settled failures, Snoozes settled snoozes, and LostSeen
	// the lost leases that were already counted as failures.
	Failures, Snoozes, LostSeen int

	// Set names the options that the enqueuer gave explicitly; of those, the
	// ones that the worker decides about follow. The rest is the worker's
	// definition at claim.
	Set         wire.Field
	MaxAttempts int
	Delays      []time.Duration
	TimeoutMs   int64
	RetentionMs int64
	// ExpiresMs is the time after which no attempt starts any more, 0 for never.
	ExpiresMs int64

	Meta []wire.KV
	// Digest is the unique key's digest, empty for a step without one.
	Digest string
	// History holds what happened to earlier attempts, oldest first, bounded by
	// AddRecord.
	History []Record
	// Part is the step's place in a run of many steps, nil for a run of one.
	Part *Part
	// Parent is the step that waits for the end of the run, nil for none. It stands
	// with the one step of a run, or with the run of many.
	Parent *Parent
	// Discards counts how often the step was discarded: whoever runs it after that
	// runs it because an operator has opened it again.
	Discards int
}

// knownKinds and knownNames spare an allocation for each kind, node and queue that
// is read.
var knownKinds, knownNames pack.Strings

// Append appends the envelope's stored form to dst and returns the longer slice.
// It allocates nothing when dst has room. A plain job takes about 16 bytes
// beside its kind and payload.
func (e *Envelope) Append(dst []byte) []byte {
	n := e.slots()
	dst = pack.AppendArray(dst, n)
	dst = append(dst, envelopeVersion)
	dst = pack.AppendString(dst, e.Kind)
	dst = pack.AppendUint(dst, uint64(e.Codec))
	dst = pack.AppendBytes(dst, e.Payload)
	dst = pack.AppendInt(dst, e.EnqueuedMs)
	for slot := slotEnqueued + 1; slot < n; slot++ {
		dst = e.appendSlot(dst, slot)
	}
	return dst
}

// DecodeEnvelope is Decode into a new Envelope.
func DecodeEnvelope(b []byte) (*Envelope, error) {
	e := new(Envelope)
	if err := e.Decode(b); err != nil {
		return nil, err
	}
	return e, nil
}

// Decode reads a stored envelope into e, replacing everything in it; after an
// error e holds nothing of use. Payload aliases b, everything else is copied.
// It returns an error that wraps ErrEnvelopeVersion or ErrEnvelopeMalformed.
func (e *Envelope) Decode(b []byte) error {
	*e = Envelope{Queue: wire.DefaultQueue, Priority: wire.Default}
	r := pack.NewReader(b)
	n := r.ArrayLen()
	version := r.Int()
	if r.Err() == nil && version > envelopeVersion {
		return fmt.Errorf("%w: version %d, this program reads up to %d", ErrEnvelopeVersion, version, envelopeVersion)
	}
	if version != envelopeVersion || n <= slotEnqueued || n > slotCount {
		r.Refuse()
	}
	e.Version = int(version)
	e.Kind = readKind(&r)
	e.Node = e.Kind
	e.Codec = uint8(r.IntIn(0, math.MaxUint8))
	if payload := r.Bytes(); len(payload) > 0 {
		e.Payload = payload
	}
	e.EnqueuedMs = r.IntIn(0, maxStoredInt)
	for slot := slotEnqueued + 1; slot < n && r.Err() == nil; slot++ {
		e.readSlot(&r, slot)
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrEnvelopeMalformed, err)
	}
	return nil
}

// slots returns how many elements are needed to hold the last one that is not at
// its default.
func (e *Envelope) slots() int {
	switch {
	case e.Discards != 0:
		return slotDiscards + 1
	case e.Parent != nil:
		return slotParent + 1
	case e.Part != nil:
		return slotPart + 1
	case len(e.History) > 0:
		return slotHistory + 1
	case e.LostSeen != 0:
		return slotLostSeen + 1
	case e.Snoozes != 0:
		return slotSnoozes + 1
	case e.Digest != "":
		return slotDigest + 1
	case len(e.Meta) > 0:
		return slotMeta + 1
	case e.hasOptions():
		return slotOptions + 1
	case e.Failures != 0:
		return slotFailures + 1
	case e.Priority != wire.Default:
		return slotPriority + 1
	case e.hasNode():
		return slotNode + 1
	case e.hasQueue():
		return slotQueue + 1
	}
	return slotEnqueued + 1
}

func (e *Envelope) hasNode() bool  { return e.Node != "" && e.Node != e.Kind }
func (e *Envelope) hasQueue() bool { return e.Queue != "" && e.Queue != wire.DefaultQueue }
func (e *Envelope) hasOptions() bool {
	return e.Set != 0 || e.MaxAttempts != 0 || len(e.Delays) > 0 ||
		e.TimeoutMs != 0 || e.RetentionMs != 0 || e.ExpiresMs != 0
}

// appendSlot appends one element of the optional part; what is at its default
// takes a byte.
func (e *Envelope) appendSlot(dst []byte, slot int) []byte {
	switch slot {
	case slotQueue:
		return appendOptionalString(dst, e.Queue, e.hasQueue())
	case slotNode:
		return appendOptionalString(dst, e.Node, e.hasNode())
	case slotPriority:
		return pack.AppendUint(dst, uint64(e.Priority))
	case slotFailures:
		return pack.AppendInt(dst, int64(e.Failures))
	case slotOptions:
		return e.appendOptions(dst)
	case slotMeta:
		dst = pack.AppendArray(dst, 2*len(e.Meta))
		for _, kv := range e.Meta {
			dst = pack.AppendString(pack.AppendString(dst, kv.Key), kv.Value)
		}
		return dst
	case slotDigest:
		return appendOptionalString(dst, e.Digest, e.Digest != "")
	case slotSnoozes:
		return pack.AppendInt(dst, int64(e.Snoozes))
	case slotLostSeen:
		return pack.AppendInt(dst, int64(e.LostSeen))
	case slotHistory:
		return appendHistory(dst, e.History)
	case slotPart:
		return appendPart(dst, e.Part)
	case slotParent:
		return appendParent(dst, e.Parent)
	default: // slotDiscards
		return pack.AppendInt(dst, int64(e.Discards))
	}
}

func (e *Envelope) readSlot(r *pack.Reader, slot int) {
	switch slot {
	case slotQueue:
		if !r.Nil() {
			e.Queue = readName(r)
		}
	case slotNode:
		if !r.Nil() {
			e.Node = readName(r)
		}
	case slotPriority:
		e.Priority = wire.Priority(r.IntIn(0, int64(wire.Low)))
	case slotFailures:
		e.Failures = int(r.IntIn(0, math.MaxInt32))
	case slotOptions:
		e.readOptions(r)
	case slotMeta:
		e.Meta = readMeta(r)
	case slotDigest:
		if !r.Nil() {
			e.Digest = r.Text()
		}
	case slotSnoozes:
		e.Snoozes = int(r.IntIn(0, math.MaxInt32))
	case slotLostSeen:
		e.LostSeen = int(r.IntIn(0, math.MaxInt32))
	case slotHistory:
		e.History = readHistory(r)
	case slotPart:
		e.Part = readPart(r)
	case slotParent:
		e.Parent = readParent(r)
	case slotDiscards:
		e.Discards = int(r.IntIn(0, math.MaxInt32))
	}
}

// Options returns what the enqueue fixed, for the rule of a definition.
func (e *Envelope) Options() wire.Options {
	return wire.Options{
		Set: e.Set, MaxAttempts: e.MaxAttempts, Delays: e.Delays,
		Timeout: time.Duration(e.TimeoutMs) * time.Millisecond, Retention: time.Duration(e.RetentionMs) * time.Millisecond,
	}
}

// appendOptions appends nil, or the array: set, max attempts, timeout ms,
// retention ms, expiry ms, delays in ns (whole, since a delay may be shorter
// than a millisecond before jitter).
func (e *Envelope) appendOptions(dst []byte) []byte {
	if !e.hasOptions() {
		return pack.AppendNil(dst)
	}
	dst = pack.AppendArray(dst, 5+len(e.Delays))
	dst = pack.AppendUint(dst, uint64(e.Set))
	dst = pack.AppendInt(dst, int64(e.MaxAttempts))
	dst = pack.AppendInt(dst, e.TimeoutMs)
	dst = pack.AppendInt(dst, e.RetentionMs)
	dst = pack.AppendInt(dst, e.ExpiresMs)
	for _, d := range e.Delays {
		dst = pack.AppendInt(dst, int64(d))
	}
	return dst
}

func (e *Envelope) readOptions(r *pack.Reader) {
	if r.Nil() {
		return
	}
	n := r.ArrayLen()
	if n < 5 {
		r.Refuse()
		return
	}
	e.Set = wire.Field(r.IntIn(0, math.MaxUint32))
	e.MaxAttempts = int(r.IntIn(0, math.MaxInt32))
	e.TimeoutMs = r.IntIn(-maxStoredInt, maxStoredInt)
	e.RetentionMs = r.IntIn(-maxStoredInt, maxStoredInt)
	e.ExpiresMs = r.IntIn(0, maxStoredInt)
	for i := 5; i < n && r.Err() == nil; i++ {
		e.Delays = append(e.Delays, time.Duration(r.Int()))
	}
}

func readMeta(r *pack.Reader) (meta []wire.KV) {
	n := r.ArrayLen()
	if n%2 != 0 {
		r.Refuse()
	}
	for range n / 2 {
		kv := wire.KV{Key: r.Text(), Value: r.Text()}
		if r.Err() != nil {
			return nil
		}
		meta = append(meta, kv)
	}
	return meta
}

// readKind reads a kind, which can be one of those that users cannot take.
func readKind(r *pack.Reader) string {
	b := r.TextBytes()
	if r.Err() != nil {
		return ""
	}
	name, ok := knownKinds.Get(b, validKind)
	if !ok {
		r.Refuse()
	}
	return name
}

func validKind(s string) bool { return wire.ValidName(s) || s == wire.KindWait || s == wire.KindSleep }

// readName reads a node or queue. Names become parts of keys and of
// members, so one outside the grammar is refused here already.
func readName(r *pack.Reader) string {
	b := r.TextBytes()
	if r.Err() != nil {
		return ""
	}
	name, ok := knownNames.Get(b, wire.ValidName)
	if !ok {
		r.Refuse()
	}
	return name
}

func appendOptionalString(dst []byte, s string, present bool) []byte {
	if !present {
		return pack.AppendNil(dst)
	}
	return pack.AppendString(dst, s)
}
