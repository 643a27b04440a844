package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

var (
	// ErrPayloadTooLarge is returned when a payload is larger than the limit,
	// which its text names. At an enqueue nothing was written.
	ErrPayloadTooLarge = errors.New("queue: payload too large")
	// ErrPayloadRefused is returned when a payload is not what its codec writes,
	// is nested more than 64 deep or holds more than 1,048,576 values, or was
	// written by a codec that this program does not have. It was not decoded.
	ErrPayloadRefused = errors.New("queue: payload refused")
)

// Codec turns inputs and outputs into stored bytes and back. Implementations are
// safe for concurrent use, and must not trust the bytes that they are given.
//
// Where a unique key is not given, the encoded input is the key: then Marshal
// must give the same bytes for equal values.
type Codec interface {
	// ID is stored with each payload. 0 to 15 are Cyclone's; a user's own codec
	// takes a number from 16 up and keeps it for ever.
	ID() uint8
	// Name is shown to people, "msgpack" for example.
	Name() string
	// Marshal returns v as bytes that nobody else holds.
	Marshal(v any) ([]byte, error)
	// Unmarshal decodes b into the value that v points to. It keeps no reference
	// to b.
	Unmarshal(b []byte, v any) error
}

// The ids of payloads that Cyclone writes itself.
const (
	codecNone    = 0 // no payload
	codecMsgpack = 1
	codecJSON    = 2
	firstUserID  = 16
)

// NewMsgpackCodec returns the default codec: MessagePack, id 1. Fields are named
// by their `msgpack` tags or else their `json` tags, so a value reads the same
// from both formats. Numbers in an `any` come back as int64, uint64 or float64
// (JSON: always float64). Equal values give equal bytes, except for maps other
// than map[string]any, map[string]string and map[string]bool.
//
// limit is the most bytes that are written or read, 0 for 1 MiB. Marshal
// returns ErrPayloadTooLarge as soon as it is reached and ErrPayloadRefused for
// what Unmarshal would refuse. Extension types (msgpack.RegisterExt) are opaque:
// their bodies are not decoded as values, and the `intern` tag is not supported.
func NewMsgpackCodec(limit int) Codec { return msgpackCodec{limitOrDefault(limit)} }

// NewJSONCodec returns the codec for JSON, id 2, with a limit as for
// NewMsgpackCodec. Numbers in an `any` come back as float64.
func NewJSONCodec(limit int) Codec { return jsonCodec{limitOrDefault(limit)} }

// builtinCodec marks the two codecs that may carry an id below firstUserID.
type builtinCodec interface{ builtin() }

type msgpackCodec struct{ limit int }

func (msgpackCodec) builtin()     {}
func (msgpackCodec) ID() uint8    { return codecMsgpack }
func (msgpackCodec) Name() string { return "msgpack" }

func (c msgpackCodec) Marshal(v any) ([]byte, error) { return c.appendTo(nil, v) }

// appendTo appends what Marshal returns.
func (c msgpackCodec) appendTo(dst []byte, v any) ([]byte, error) {
	w := msgpackWriters.Get().(*msgpackWriter)
	defer w.release()
	w.limit = c.limit
	w.encoder.Reset(w)
	w.encoder.SetCustomStructTag("json")
	w.encoder.UseCompactInts(true)
	w.encoder.SetSortMapKeys(true)
	if err := w.encoder.Encode(v); err != nil {
		return nil, err
	}
	if err := pack.Scan(w.b, pack.Limits{}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPayloadRefused, err)
	}
	return append(dst, w.b...), nil
}

func (c msgpackCodec) Unmarshal(b []byte, v any) (err error) {
	if err := checkSize(len(b), c.limit); err != nil {
		return err
	}
	r := msgpackReaders.Get().(*msgpackReader)
	defer func() {
		// A key that cannot be hashed, say, panics inside the decoder. What the
		// decoder holds then is unknown, so it does not go back to the pool.
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic while decoding: %v", ErrPayloadRefused, p)
			return
		}
		r.guard.Release()
		msgpackReaders.Put(r)
	}()
	if err := r.guard.Reset(b, pack.Limits{}); err != nil {
		return fmt.Errorf("%w: %w", ErrPayloadRefused, err)
	}
	r.decoder.Reset(&r.guard)
	r.decoder.SetCustomStructTag("json")
	r.decoder.UseLooseInterfaceDecoding(true)
	return r.decoder.Decode(v)
}

// msgpackWriter is an encoder and the buffer that it writes to, which stops it at
// the limit: a value that contains itself ends there too.
type msgpackWriter struct {
	encoder *msgpack.Encoder
	b       []byte
	limit   int
}

var msgpackWriters = sync.Pool{New: func() any { return &msgpackWriter{encoder: msgpack.NewEncoder(nil)} }}

func (w *msgpackWriter) Write(p []byte) (int, error) {
	if err := checkSize(len(w.b)+len(p), w.limit); err != nil {
		return 0, err
	}
	w.b = append(w.b, p...)
	return len(p), nil
}

func (w *msgpackWriter) WriteByte(c byte) error {
	if err := checkSize(len(w.b)+1, w.limit); err != nil {
		return err
	}
	w.b = append(w.b, c)
	return nil
}

// release returns w to the pool unless a large payload made its buffer large.
func (w *msgpackWriter) release() {
	const ordinary = 64 << 10
	if cap(w.b) <= ordinary {
		w.b = w.b[:0]
		msgpackWriters.Put(w)
	}
}

type msgpackReader struct {
	decoder *msgpack.Decoder
	guard   pack.Guard
}

var msgpackReaders = sync.Pool{New: func() any { return &msgpackReader{decoder: msgpack.NewDecoder(nil)} }}

type jsonCodec struct{ limit int }

func (jsonCodec) builtin()     {}
func (jsonCodec) ID() uint8    { return codecJSON }
func (jsonCodec) Name() string { return "json" }

func (c jsonCodec) Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if err := c.check(b); err != nil {
		return nil, err
	}
	return b, nil
}

func (c jsonCodec) Unmarshal(b []byte, v any) error {
	if err := c.check(b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// check looks at size, depth and number of values.
func (c jsonCodec) check(b []byte) error {
	if err := checkSize(len(b), c.limit); err != nil {
		return err
	}
	if err := pack.ScanJSON(b, pack.Limits{}); err != nil {
		return fmt.Errorf("%w: %w", ErrPayloadRefused, err)
	}
	return nil
}

// EncryptionKey is one AES-256 key of an encrypting codec. It prints as its id
// and never as its secret.
type EncryptionKey struct {
	// ID is stored with each payload, 1 to 255 bytes.
	ID string
	// Secret is the key, 32 random bytes.
	Secret []byte
}

// String returns the key's id.
func (k EncryptionKey) String() string { return "encryption key " + k.ID }

// GoString is String.
func (k EncryptionKey) GoString() string { return k.String() }

// LogValue is String, for log/slog.
func (k EncryptionKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// NewEncryptedCodec returns a codec that encrypts what inner writes with
// AES-256-GCM under the first key, and reads what any of the keys has written:
// to change keys, put the new one first and drop the old one when its payloads
// are gone. A key is good for 2³² payloads.
//
// id is the codec's own, 16 or more. data is authenticated with every payload:
// one written under other data does not open. Give the deployment's prefix, so
// that payloads cannot be moved between deployments; within one, whoever may
// write to Redis can still exchange the payloads of two steps. Unmarshal
// returns ErrPayloadRefused for what does not open. Equal values give different
// bytes, so unique keys must be given and cannot be taken from the input.
//
// NewEncryptedCodec returns an error for an id below 16, no key, a secret that
// is not 32 bytes long, or a key id given twice.
func NewEncryptedCodec(id uint8, inner Codec, data []byte, keys ...EncryptionKey) (Codec, error) {
	if id < firstUserID {
		return nil, fmt.Errorf("queue: codec id %d: must be %d or more", id, firstUserID)
	}
	if len(keys) == 0 {
		return nil, errors.New("queue: an encrypting codec needs a key")
	}
	sealer := pack.NewSealer(data)
	for _, k := range keys {
		if err := sealer.AddKey(k.ID, k.Secret); err != nil {
			return nil, fmt.Errorf("queue: encryption %w", err)
		}
	}
	return &encryptedCodec{id: id, inner: inner, json: jsonCodec{math.MaxInt}, sealer: sealer}, nil
}

// encryptedCodec seals the inner payload with its codec's id in front: what came
// in as JSON is sealed as JSON.
type encryptedCodec struct {
	id          uint8
	inner, json Codec
	sealer      *pack.Sealer
}

func (c *encryptedCodec) ID() uint8    { return c.id }
func (c *encryptedCodec) Name() string { return "encrypted " + c.inner.Name() }

func (c *encryptedCodec) Marshal(v any) ([]byte, error) {
	b, err := c.inner.Marshal(v)
	if err != nil {
		return nil, err
	}
	return c.seal(c.inner, b), nil
}

func (c *encryptedCodec) seal(codec Codec, b []byte) []byte {
	return c.sealer.Seal(append([]byte{codec.ID()}, b...))
}

func (c *encryptedCodec) Unmarshal(b []byte, v any) error {
	plain, err := c.sealer.Open(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPayloadRefused, err)
	}
	for _, codec := range []Codec{c.inner, c.json} {
		if len(plain) > 0 && plain[0] == codec.ID() {
			return codec.Unmarshal(plain[1:], v)
		}
	}
	return fmt.Errorf("%w: sealed by another codec", ErrPayloadRefused)
}

// codecs is what a client reads and writes payloads with: one codec to write,
// and any number to read what was written earlier or elsewhere.
type codecs struct {
	write Codec
	read  map[uint8]Codec
	limit int
}

// newCodecs returns a set that writes with the given codec (nil: MessagePack)
// and reads with it, the extra ones, MessagePack and JSON. limit is in stored
// bytes, 0 for 1 MiB. Two codecs of different names with the same id are an error, and
// so is a user's codec with one of Cyclone's ids.
func newCodecs(limit int, write Codec, extra ...Codec) (*codecs, error) {
	limit = limitOrDefault(limit)
	builtin := []Codec{NewMsgpackCodec(limit), NewJSONCodec(limit)}
	if write == nil {
		write = builtin[0]
	}
	set := &codecs{write: write, read: make(map[uint8]Codec), limit: limit}
	for _, c := range slices.Concat(builtin, extra, []Codec{write}) {
		known := set.read[c.ID()]
		if known != nil && known.Name() != c.Name() {
			return nil, fmt.Errorf("queue: codec %s: its id %d is that of %s", c.Name(), c.ID(), known.Name())
		}
		if _, own := c.(builtinCodec); !own && c.ID() < firstUserID {
			return nil, fmt.Errorf("queue: codec %s: id %d: must be %d or more", c.Name(), c.ID(), firstUserID)
		}
		set.read[c.ID()] = c
	}
	return set, nil
}

// encode returns v's stored form and the id of the codec that reads it. A nil v
// has no payload.
func (s *codecs) encode(v any) (id uint8, payload []byte, err error) { return s.encodeIn(nil, v) }

// encodeIn is encode that may put the payload into room, which is empty and stays the
// caller's.
func (s *codecs) encodeIn(room []byte, v any) (id uint8, payload []byte, err error) {
	if v == nil {
		return codecNone, room, nil
	}
	if own, ok := s.write.(msgpackCodec); ok {
		payload, err = own.appendTo(room, v)
	} else {
		payload, err = s.write.Marshal(v)
	}
	if err != nil {
		return 0, nil, err
	}
	return s.write.ID(), payload, checkSize(len(payload), s.limit)
}

// encodeJSON is encode for an input that came in as JSON. It is stored as JSON,
// whatever the set writes otherwise, but encrypted if the set encrypts.
func (s *codecs) encodeJSON(raw json.RawMessage) (id uint8, payload []byte, err error) {
	if !json.Valid(raw) {
		return 0, nil, fmt.Errorf("%w: not valid JSON", ErrPayloadRefused)
	}
	payload, err = s.read[codecJSON].Marshal(raw)
	if err != nil {
		return 0, nil, err
	}
	if encrypted, ok := s.write.(*encryptedCodec); ok {
		payload = encrypted.seal(encrypted.json, payload)
		return encrypted.ID(), payload, checkSize(len(payload), s.limit)
	}
	return codecJSON, payload, nil
}

// decode decodes a stored payload into the value that v points to. Without a
// payload it leaves the value as it is.
func (s *codecs) decode(id uint8, payload []byte, v any) error {
	if id == codecNone && len(payload) == 0 {
		return nil
	}
	c := s.read[id]
	if c == nil {
		return fmt.Errorf("%w: no codec with id %d", ErrPayloadRefused, id)
	}
	if err := checkSize(len(payload), s.limit); err != nil {
		return err
	}
	return c.Unmarshal(payload, v)
}

func limitOrDefault(limit int) int {
	if limit <= 0 {
		return wire.MaxPayload
	}
	return limit
}

func checkSize(size, limit int) error {
	if size > limit {
		return fmt.Errorf("%w: more than the limit of %d bytes", ErrPayloadTooLarge, limit)
	}
	return nil
}
