package queue

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// requestKeyLife is how long a request key finds the run that it made.
const requestKeyLife = 24 * time.Hour

// bodyOverhead is the room beside its payload that a stored body may take: meta
// data, delays and history.
const bodyOverhead = 512 << 10

func (c *Client) maxBody() int { return c.cfg.MaxPayload + bodyOverhead }

// item is one step on its way into Redis.
type item struct {
	kind, queue string
	lane        int
	due         string // as luascripts.EnqueueItem.Due
	body        string
	digest      string
	key         string // the unique or request key as the user wrote it
	request     bool   // it is a request key
	conflict    wire.Conflict
	scopeMS     int64
	replicas    int
	parent      *Parent // of a child run

	ticket  *ticket
	receipt *cyclone.Receipt // where the answer goes
}

// plain tells that the item only needs a body and a place in ready.
func (it *item) plain() bool { return it.due == "" && it.digest == "" }

// rule is what the script does about a held key.
func (it *item) rule() int {
	if it.request {
		return luascripts.ConflictRequest
	}
	return int(it.conflict)
}

// fail answers the item with an error.
func (it *item) fail(err error) {
	it.receipt.Err = err
	it.ticket.settle(1)
}

// scratch has buffers in which payloads and envelopes are put together.
var scratch = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// release returns a buffer to scratch unless a large payload made it large.
func release(buf *[]byte) {
	if cap(*buf) <= 64<<10 {
		scratch.Put(buf)
	}
}

// prepare checks a request and encodes it. Nothing is written yet.
func (c *Client) prepare(it *item, spec *wire.Spec) error {
	if spec.Err != nil {
		return spec.Err
	}
	var room wire.Options
	o := spec.EffectiveIn(&room)
	if err := c.checkTogether(o); err != nil {
		return fmt.Errorf("%s: %w", spec.Kind, err)
	}
	buf := scratch.Get().(*[]byte)
	defer release(buf)
	codec, payload, err := c.encodeInput((*buf)[:0], spec)
	if err != nil {
		return fmt.Errorf("%s: input: %w", spec.Kind, err)
	}
	it.kind, it.queue, it.lane = spec.Kind, o.QueueName(), int(o.Lane())
	it.due = dueOf(o)
	it.replicas = o.WaitReplicas
	switch {
	case o.Set.Has(wire.FieldUnique):
		it.key, it.conflict, it.scopeMS = o.Unique.Key, o.Unique.Conflict, o.Unique.Scope.Milliseconds()
		it.digest = digestOf("u", it.queue, it.kind, it.key, payload)
	case o.Set.Has(wire.FieldRequestKey):
		it.key, it.request, it.scopeMS = o.RequestKey, true, requestKeyLife.Milliseconds()
		it.digest = digestOf("r", it.queue, it.kind, it.key, nil)
	}
	env := Envelope{Kind: it.kind, Queue: it.queue, Priority: wire.Priority(it.lane), Codec: codec, Payload: payload, EnqueuedMs: c.clock.nowMS(), Meta: o.Meta, Parent: it.parent}
	if it.scopeMS == 0 {
		env.Digest = it.digest // a retry takes the key again
	}
	env.setExplicit(&spec.Options, o)
	*buf = env.Append(payload) // behind the payload, which goes into it
	it.body = string((*buf)[len(payload):])
	if len(it.body) > c.maxBody() {
		return fmt.Errorf("%s: input and options take %d bytes: the limit is %d", spec.Kind, len(it.body), c.maxBody())
	}
	return nil
}

// setExplicit stores what the enqueue itself fixed about the attempts; the rest
// is the worker's definition at claim. An expiry is the enqueue's in any case.
func (e *Envelope) setExplicit(given, effective *wire.Options) {
	const stored = wire.FieldMaxAttempts | wire.FieldDelays | wire.FieldTimeout | wire.FieldRetention
	e.Set = given.Set & stored
	if e.Set.Has(wire.FieldMaxAttempts) {
		e.MaxAttempts = given.MaxAttempts
	}
	if e.Set.Has(wire.FieldDelays) {
		e.Delays = given.Delays
	}
	if e.Set.Has(wire.FieldTimeout) {
		e.TimeoutMs = milliseconds(given.Timeout)
	}
	if e.Set.Has(wire.FieldRetention) {
		e.RetentionMs = milliseconds(given.Retention)
	}
	if effective.Set.Has(wire.FieldExpiry) {
		e.Set |= wire.FieldExpiry
		e.ExpiresMs = e.EnqueuedMs + milliseconds(effective.Expiry)
	}
}

// milliseconds rounds up, so that nothing above zero becomes zero.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// encodeInput encodes the input, in room if the codec can use it.
func (c *Client) encodeInput(room []byte, spec *wire.Spec) (uint8, []byte, error) {
	if spec.RawJSON != nil {
		return c.codecs.encodeJSON(spec.RawJSON)
	}
	return c.codecs.encodeIn(room, spec.Input)
}

// checkTogether refuses options that exclude each other.
func (c *Client) checkTogether(o *wire.Options) error {
	if o.Set.Has(wire.FieldUnique | wire.FieldRequestKey) {
		return errors.New("WithUnique and WithRequestKey: give one of them, not both")
	}
	if _, encrypts := c.codecs.write.(*encryptedCodec); encrypts && o.Set.Has(wire.FieldUnique) && o.Unique.Key == "" {
		return errors.New("unique: Key is needed with an encrypting codec, whose output is never the same twice")
	}
	return nil
}

// dueOf returns the due time as the script reads it.
func dueOf(o *wire.Options) string {
	switch {
	case o.Set.Has(wire.FieldStartAt):
		at := o.StartAt.UnixMilli()
		if o.StartAt.After(time.UnixMilli(at)) {
			at++
		}
		return strconv.FormatInt(max(at, 0), 10)
	case o.Set.Has(wire.FieldDelay) && o.Delay > 0:
		return "+" + strconv.FormatInt(milliseconds(o.Delay), 10)
	}
	return ""
}

// digestOf is the unique key as it is stored: 128 bits of a SHA-256, which no key
// that a user makes up can collide with on purpose.
func digestOf(space, queue, kind, key string, payload []byte) string {
	h := sha256.New()
	for _, part := range []string{space, queue, kind, key} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	if key == "" {
		h.Write(payload)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// home returns the partition on which a digest lives: always the same one, so
// that uniqueness is exact.
func home(digest string, partitions int) int {
	h := fnv.New32a()
	h.Write([]byte(digest))
	return int(h.Sum32()) & (partitions - 1)
}
