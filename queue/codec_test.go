package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

type codecInput struct {
	Embedded
	Name     string            `json:"name"`
	Count    int64             `json:"count"`
	Small    uint8             `json:"small,omitempty"`
	Ratio    float64           `json:"ratio"`
	On       bool              `json:"on"`
	Data     []byte            `json:"data"`
	Tags     []string          `json:"tags"`
	Labels   map[string]string `json:"labels"`
	Inner    *codecInput       `json:"inner,omitempty"`
	At       time.Time         `json:"at"`
	Wait     time.Duration     `json:"wait"`
	Hidden   string            `json:"-"`
	Untagged string
}

// Embedded is exported, as a field of it must be for a decoder to reach it.
type Embedded struct {
	Tenant string `json:"tenant"`
}

func someInput() codecInput {
	return codecInput{
		Embedded: Embedded{Tenant: "t"}, Name: "Ada", Count: -1 << 60, Small: 200, Ratio: 0.1, On: true, Data: []byte{0, 255},
		Tags: []string{"a", ""}, Labels: map[string]string{"k": "v", "l": "w"}, Inner: &codecInput{Name: "inner", At: time.Unix(0, 0).UTC()},
		At: time.Unix(1<<31, 123_000_000).UTC(), Wait: time.Minute, Untagged: "u",
	}
}

func bothCodecs() []Codec { return []Codec{NewMsgpackCodec(0), NewJSONCodec(0)} }

// TestBothFormatsFillTheSameStruct: what the command line sends as JSON reaches a
// handler exactly like what a program sends as MessagePack.
func TestBothFormatsFillTheSameStruct(t *testing.T) {
	t.Parallel()
	want := someInput()
	for _, codec := range bothCodecs() {
		b, err := codec.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got codecInput
		if err := codec.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
			t.Errorf("%s: %s", codec.Name(), diff)
		}
	}
}

func TestFieldsAreNamedByTheirJSONTags(t *testing.T) {
	t.Parallel()
	b, err := NewMsgpackCodec(0).Marshal(someInput())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := msgpack.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"name", "tenant", "inner", "Untagged"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"Name", "Hidden", "-", "Embedded"} {
		if _, ok := fields[name]; ok {
			t.Errorf("%s is there", name)
		}
	}
}

func TestEqualValuesGiveEqualBytes(t *testing.T) {
	t.Parallel()
	value := map[string]any{}
	for i := range 50 {
		value[fmt.Sprint(i)] = map[string]string{"a": "b", "c": "d", "e": "f"}
	}
	for _, codec := range bothCodecs() {
		first, err := codec.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if again, _ := codec.Marshal(value); !bytes.Equal(first, again) {
				t.Fatalf("%s: equal maps give different bytes", codec.Name())
			}
		}
	}
}

func TestSmallNumbersAreSmall(t *testing.T) {
	t.Parallel()
	if b, err := NewMsgpackCodec(0).Marshal([]int64{1, 2, 3}); err != nil || len(b) != 4 {
		t.Errorf("% x, %v", b, err)
	}
}

func TestNumbersOfUnknownType(t *testing.T) {
	t.Parallel()
	var got []any
	b, _ := NewMsgpackCodec(0).Marshal([]any{int8(1), -5, uint64(1 << 63), float32(0.5)})
	if err := NewMsgpackCodec(0).Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{int64(1), int64(-5), uint64(1 << 63), 0.5}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLimitHoldsBothWays(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 100} {
		most := max(limit, 0)
		if most == 0 {
			most = wire.MaxPayload
		}
		small, large := NewMsgpackCodec(limit), NewMsgpackCodec(2<<20)
		smallJSON, largeJSON := NewJSONCodec(limit), NewJSONCodec(2<<20)
		header := map[bool]int{true: 2, false: 5}[most < 256]
		for _, tc := range []struct {
			write, read Codec
			overhead    int
		}{{large, small, header}, {largeJSON, smallJSON, 2}} {
			fits := strings.Repeat("x", most-tc.overhead)
			b, err := tc.read.Marshal(fits)
			if err != nil || len(b) != most {
				t.Fatalf("%s: %d bytes, %v", tc.read.Name(), len(b), err)
			}
			var got string
			if err := tc.read.Unmarshal(b, &got); err != nil || got != fits {
				t.Errorf("%s: reading what just fits: %v", tc.read.Name(), err)
			}
			b, err = tc.read.Marshal(fits + "x")
			if !errors.Is(err, ErrPayloadTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(most)) || b != nil {
				t.Errorf("%s: writing one byte more: %v", tc.read.Name(), err)
			}
			b, err = tc.write.Marshal(fits + "x")
			if err != nil {
				t.Fatal(err)
			}
			err = tc.read.Unmarshal(b, &got)
			if !errors.Is(err, ErrPayloadTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(most)) {
				t.Errorf("%s: reading one byte more: %v", tc.read.Name(), err)
			}
		}
	}
}

// TestAValueInsideItselfEndsAtTheLimit would otherwise overflow the stack, which
// nothing recovers from.
func TestAValueInsideItselfEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	type list []list
	loop := make(list, 1)
	loop[0] = loop
	if _, err := NewMsgpackCodec(0).Marshal(loop); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("msgpack: %v", err)
	}
	node := &codecInput{}
	node.Inner = node
	for _, codec := range bothCodecs() {
		if _, err := codec.Marshal(node); err == nil {
			t.Errorf("%s: a cycle was encoded", codec.Name())
		}
	}
}

// TestWhatCannotBeReadIsNotWritten: the enqueuer learns of it, not the worker.
func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	t.Parallel()
	var deep any
	for range 65 {
		deep = []any{deep}
	}
	for _, codec := range bothCodecs() {
		if _, err := codec.Marshal(deep); !errors.Is(err, ErrPayloadRefused) || !errors.Is(err, pack.ErrDepth) {
			t.Errorf("%s: %v", codec.Name(), err)
		}
	}
	type interning struct {
		A, B string `msgpack:",intern"`
	}
	if _, err := NewMsgpackCodec(0).Marshal(interning{"same text", "same text"}); !errors.Is(err, ErrPayloadRefused) {
		t.Errorf("interned strings: %v", err)
	}
}

func TestHostilePayloadsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		codec Codec
		in    string
	}{
		{"array of 4 billion", NewMsgpackCodec(0), "\xdd\xff\xff\xff\xff"},
		{"binary of 2 GiB", NewMsgpackCodec(0), "\xc6\x7f\xff\xff\xff"},
		{"20 MB of nesting", NewMsgpackCodec(32 << 20), strings.Repeat("\x91", 20<<20)},
		{"nothing", NewMsgpackCodec(0), ""},
		{"a key that cannot be hashed", NewMsgpackCodec(0), "\x81\x91\x01\x01"},
		{"JSON, 20 MB of nesting", NewJSONCodec(32 << 20), strings.Repeat("[", 20<<20)},
		{"JSON, not closed", NewJSONCodec(0), `{"a":1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, v := range []any{new(any), new(map[any]any), new([]int), new([]byte), new(codecInput)} {
				// A few of them fit no target for another reason: that is an
				// error too.
				if err := tc.codec.Unmarshal([]byte(tc.in), v); err == nil {
					t.Errorf("decoded into %T", v)
				}
			}
			var v map[any]any
			if err := tc.codec.Unmarshal([]byte(tc.in), &v); !errors.Is(err, ErrPayloadRefused) {
				t.Errorf("%v, want %v", err, ErrPayloadRefused)
			}
		})
	}
	// An extension whose body says: an array of 4 billion.
	var m map[string]any
	err := NewMsgpackCodec(0).Unmarshal([]byte("\xd7\xff\x81\xa1a\xdd\xff\xff\xff\xff"), &m)
	if !errors.Is(err, pack.ErrExtension) {
		t.Errorf("an extension for a map: %v", err)
	}
}

func newTestCodec(t *testing.T, id uint8, keys ...string) Codec {
	t.Helper()
	var ring []EncryptionKey
	for _, k := range keys {
		ring = append(ring, EncryptionKey{ID: k, Secret: bytes.Repeat([]byte(k[:1]), 32)})
	}
	codec, err := NewEncryptedCodec(id, NewMsgpackCodec(0), []byte("cyclone"), ring...)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func TestEncryptedPayloads(t *testing.T) {
	t.Parallel()
	old, rotated := newTestCodec(t, 16, "a"), newTestCodec(t, 16, "b", "a")
	want := someInput()
	b, err := old.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("Ada")) {
		t.Error("the payload is readable")
	}
	var got codecInput
	if err := rotated.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Error(diff)
	}
	b, _ = rotated.Marshal(want)
	if err := old.Unmarshal(b, &got); !errors.Is(err, ErrPayloadRefused) || !errors.Is(err, pack.ErrSealed) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := old.Marshal(strings.Repeat("x", wire.MaxPayload)); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestEncryptedCodecRefuses(t *testing.T) {
	t.Parallel()
	key := EncryptionKey{ID: "k", Secret: make([]byte, 32)}
	for name, build := range map[string]func() (Codec, error){
		"id 15":       func() (Codec, error) { return NewEncryptedCodec(15, NewJSONCodec(0), nil, key) },
		"no key":      func() (Codec, error) { return NewEncryptedCodec(16, NewJSONCodec(0), nil) },
		"a key twice": func() (Codec, error) { return NewEncryptedCodec(16, NewJSONCodec(0), nil, key, key) },
		"a short key": func() (Codec, error) { return NewEncryptedCodec(16, NewJSONCodec(0), nil, EncryptionKey{"k", nil}) },
		"a nameless key": func() (Codec, error) {
			return NewEncryptedCodec(16, NewJSONCodec(0), nil, EncryptionKey{"", make([]byte, 32)})
		},
	} {
		if _, err := build(); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestKeysDoNotPrintTheirSecret(t *testing.T) {
	t.Parallel()
	key := EncryptionKey{ID: "2026", Secret: []byte("a secret that nobody should see!")}
	var log bytes.Buffer
	timeless := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // any digits may be in it
		}
		return a
	}}
	slog.New(slog.NewJSONHandler(&log, timeless)).Info("start", "key", key)
	for _, text := range []string{log.String(), fmt.Sprintf("%v %+v %#v %s", key, key, key, key)} {
		if strings.Contains(text, "secret") || strings.Contains(text, "97") || !strings.Contains(text, "2026") {
			t.Errorf("prints as %s", text)
		}
	}
}

func TestCodecSet(t *testing.T) {
	t.Parallel()
	encrypted := newTestCodec(t, 16, "a")
	raw := json.RawMessage(`{"name": "Ada", "count": 9007199254740993}`)
	for _, tc := range []struct {
		name          string
		write         Codec
		id, idForJSON uint8
	}{
		{"by default", nil, codecMsgpack, codecJSON},
		{"JSON", NewJSONCodec(0), codecJSON, codecJSON},
		{"encrypted", encrypted, 16, 16},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set, err := newCodecs(0, tc.write, encrypted)
			if err != nil {
				t.Fatal(err)
			}
			id, payload, err := set.encode(codecInput{Name: "Ada", Count: 1<<53 + 1})
			checkCodecSet(t, set, tc.id, id, payload, err)
			id, payload, err = set.encodeJSON(raw)
			checkCodecSet(t, set, tc.idForJSON, id, payload, err)

			kept := codecInput{Name: "kept"}
			if id, payload, err = set.encode(nil); id != codecNone || payload != nil || err != nil {
				t.Errorf("no input: id %d, %x, %v", id, payload, err)
			}
			if err := set.decode(id, payload, &kept); err != nil || kept.Name != "kept" {
				t.Errorf("no payload: %+v, %v", kept, err)
			}
			for _, bad := range []string{"", "{", `{"a":1} x`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
				if _, _, err := set.encodeJSON(json.RawMessage(bad)); !errors.Is(err, ErrPayloadRefused) {
					t.Errorf("%.20q: %v", bad, err)
				}
			}
		})
	}
}

func checkCodecSet(t *testing.T, set *codecs, wantID, id uint8, payload []byte, err error) {
	t.Helper()
	var got codecInput
	if err == nil {
		err = set.decode(id, payload, &got)
	}
	if err != nil || id != wantID || got.Name != "Ada" || got.Count != 1<<53+1 {
		t.Errorf("id %d, want %d; decoded %q %d; %v", id, wantID, got.Name, got.Count, err)
	}
}

func TestCodecSetRefuses(t *testing.T) {
	t.Parallel()
	a, b := newTestCodec(t, 16, "a"), foreignCodec{16}
	if _, err := newCodecs(0, nil, a, b); err == nil {
		t.Error("two codecs with one id")
	}
	if _, err := newCodecs(0, foreignCodec{3}); err == nil {
		t.Error("a user's codec with id 3")
	}
	if _, err := newCodecs(0, foreignCodec{codecJSON}); err == nil {
		t.Error("a user's codec in the place of JSON")
	}
	set, err := newCodecs(10, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := set.encode("more than ten bytes"); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("a user's codec beyond the limit: %v", err)
	}
	if err := set.decode(16, make([]byte, 11), new(string)); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("a user's payload beyond the limit: %v", err)
	}
	for _, id := range []uint8{codecNone, 3, 17} {
		if err := set.decode(id, []byte("x"), new(string)); !errors.Is(err, ErrPayloadRefused) {
			t.Errorf("codec %d: %v", id, err)
		}
	}
}

// foreignCodec stores text as it is.
type foreignCodec struct{ id uint8 }

func (c foreignCodec) ID() uint8                     { return c.id }
func (foreignCodec) Name() string                    { return "foreign" }
func (foreignCodec) Marshal(v any) ([]byte, error)   { return []byte(v.(string)), nil }
func (foreignCodec) Unmarshal(b []byte, v any) error { *v.(*string) = string(b); return nil }

func BenchmarkCodec(b *testing.B) {
	in := someInput()
	for _, codec := range bothCodecs() {
		stored, err := codec.Marshal(in)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(codec.Name()+"/marshal", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.Marshal(in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(codec.Name()+"/unmarshal", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var out codecInput
				if err := codec.Unmarshal(stored, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
