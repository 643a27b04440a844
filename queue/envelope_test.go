package queue

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// plainEnvelope is an ordinary job with an ordinary name.
func plainEnvelope() *Envelope {
	return &Envelope{
		Version: envelopeVersion, Kind: "send-email", Node: "send-email", Queue: wire.DefaultQueue, Priority: wire.Default,
		Codec: codecMsgpack, Payload: bytes.Repeat([]byte("p"), 100), EnqueuedMs: 1_796_042_233_861,
	}
}

// fullEnvelope has every part.
func fullEnvelope() *Envelope {
	e := plainEnvelope()
	e.Node, e.Queue, e.Priority = "second", "mail", wire.High
	e.Failures, e.Snoozes, e.LostSeen = 3, 2, 1
	e.Set = wire.FieldDelays | wire.FieldTimeout
	e.MaxAttempts = 10
	e.Delays = []time.Duration{time.Second, time.Hour, 1}
	e.TimeoutMs, e.RetentionMs, e.ExpiresMs = 1000, 60_000, 1_796_042_299_999
	e.Meta = []wire.KV{{Key: "traceparent", Value: "00-ab"}, {Key: "tenant", Value: ""}}
	e.Digest = strings.Repeat("\xff", 16)
	e.History = []Record{
		{At: 1_796_042_233_862, Type: RecordFailed, Attempt: 1, Error: "no such host", Code: "error", Stack: "main.go:1", Worker: "w1", DelayMs: 5000},
		{At: 1_796_042_233_999, Type: RecordSnoozed},
	}
	e.Part = &Part{
		Index:    7,
		Children: []Child{{Index: 8, Queue: wire.DefaultQueue, Priority: wire.Low}, {Index: 300, Queue: "mail", DelayMs: 5000}, {Index: 1, Queue: "mail", StartMs: 5000}},
		Mode:     wire.FromJoin, Refs: []wire.InputRef{{Node: 1, Path: []string{"Customer", "Name"}}, {Node: 6}},
	}
	e.Parent = &Parent{Step: "12.3", Signal: "child.1"}
	return e
}

var anyName = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`)

// anyEnvelope draws what a writer may write.
func anyEnvelope(t *rapid.T) *Envelope {
	ms := rapid.Int64Range(0, maxStoredInt)
	count := rapid.IntRange(0, 1<<31-1)
	e := &Envelope{
		Version:    envelopeVersion,
		Kind:       rapid.OneOf(anyName, anyName, rapid.Just(wire.KindWait), rapid.Just(wire.KindSleep)).Draw(t, "kind"),
		Queue:      rapid.OneOf(rapid.Just(wire.DefaultQueue), anyName).Draw(t, "queue"),
		Priority:   wire.Priority(rapid.IntRange(0, 2).Draw(t, "priority")),
		Codec:      rapid.Byte().Draw(t, "codec"),
		EnqueuedMs: ms.Draw(t, "enqueued"),
		Digest:     rapid.String().Draw(t, "digest"),
	}
	e.Node = rapid.OneOf(rapid.Just(e.Kind), anyName).Draw(t, "node")
	if payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload"); len(payload) > 0 {
		e.Payload = payload
	}
	if rapid.Bool().Draw(t, "tried") {
		e.Failures, e.Snoozes, e.LostSeen = count.Draw(t, "failures"), count.Draw(t, "snoozes"), count.Draw(t, "lost")
	}
	if rapid.Bool().Draw(t, "options") {
		e.Set = wire.Field(rapid.Uint32().Draw(t, "set"))
		e.MaxAttempts = count.Draw(t, "attempts")
		e.TimeoutMs, e.RetentionMs, e.ExpiresMs = ms.Draw(t, "timeout"), ms.Draw(t, "retention"), ms.Draw(t, "expiry")
		for _, d := range rapid.SliceOf(rapid.Int64()).Draw(t, "delays") {
			e.Delays = append(e.Delays, time.Duration(d))
		}
	}
	for _, key := range rapid.SliceOf(rapid.String()).Draw(t, "meta") {
		e.Meta = append(e.Meta, wire.KV{Key: key, Value: rapid.String().Draw(t, "value")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "records") {
		e.History = append(e.History, Record{
			At: ms.Draw(t, "at"), Type: RecordType(rapid.Byte().Draw(t, "type")), Attempt: count.Draw(t, "attempt"),
			Error: rapid.String().Draw(t, "error"), Code: rapid.String().Draw(t, "code"), Stack: rapid.String().Draw(t, "stack"),
			Worker: rapid.String().Draw(t, "worker"), DelayMs: ms.Draw(t, "delay"),
		})
	}
	if rapid.Bool().Draw(t, "part of a run") {
		e.Part = anyPart(t)
	}
	if rapid.Bool().Draw(t, "child") {
		id := StepID{Run: cyclone.RunID(rapid.Int64Min(1).Draw(t, "parent")), Node: rapid.IntRange(0, maxNodeIndex).Draw(t, "parent node")}
		e.Parent = &Parent{Step: id.String(), Signal: rapid.String().Draw(t, "signal")}
	}
	return e
}

func anyPart(t *rapid.T) *Part {
	node := rapid.IntRange(0, maxNodeIndex-1)
	p := &Part{Index: node.Draw(t, "index"), Wide: rapid.Bool().Draw(t, "wide"), Mode: wire.InputMode(rapid.IntRange(0, 3).Draw(t, "mode"))}
	for range rapid.IntRange(0, 3).Draw(t, "children") {
		p.Children = append(p.Children, Child{
			Index: node.Draw(t, "child"), Queue: rapid.OneOf(rapid.Just(wire.DefaultQueue), anyName).Draw(t, "child's queue"),
			Priority: wire.Priority(rapid.IntRange(0, 2).Draw(t, "lane")), DelayMs: rapid.Int64Range(0, maxStoredInt).Draw(t, "delay"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "refs") {
		ref := wire.InputRef{Node: node.Draw(t, "ref")}
		ref.Path = append(ref.Path, rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "path")...)
		p.Refs = append(p.Refs, ref)
	}
	return p
}

func TestEnvelopeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyEnvelope(t)
		got, err := DecodeEnvelope(want.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEnvelopeLeavesOutWhatIsUsual(t *testing.T) {
	t.Parallel()
	e := plainEnvelope()
	b := e.Append(nil)
	if over := len(b) - len(e.Payload) - len(e.Kind); over > 16 {
		t.Errorf("a plain job takes %d bytes beside its kind and payload", over)
	}
	e.Node, e.Queue = "", ""
	if !bytes.Equal(b, e.Append(nil)) {
		t.Error("an empty node or queue is not the usual one")
	}
	if whole := fullEnvelope().Append([]byte("before")); !bytes.HasPrefix(whole, []byte("before")) {
		t.Error("Append lost what was there before")
	}
}

// TestEnvelopeLayout holds the stored bytes: other versions of the program read
// them.
func TestEnvelopeLayout(t *testing.T) {
	t.Parallel()
	e := &Envelope{Kind: "k", Priority: wire.Default, Codec: 2, Payload: []byte("{}"), EnqueuedMs: 1}
	for _, tc := range []struct {
		change func()
		want   string
	}{
		{func() {}, "9501a16b02c4027b7d01"},
		{func() { e.Queue = "q" }, "9601a16b02c4027b7d01a171"},
		{func() { e.Node = "n" }, "9701a16b02c4027b7d01a171a16e"},
		{func() { e.Priority = wire.High }, "9801a16b02c4027b7d01a171a16e00"},
		{func() { e.Failures = 2 }, "9901a16b02c4027b7d01a171a16e0002"},
		{func() { e.MaxAttempts, e.Delays = 3, []time.Duration{4} }, "9a01a16b02c4027b7d01a171a16e000296000300000004"},
		{func() { e.Meta = []wire.KV{{Key: "a", Value: "b"}} }, "9b01a16b02c4027b7d01a171a16e00029600030000000492a161a162"},
		{func() { e.Digest = "d" }, "9c01a16b02c4027b7d01a171a16e00029600030000000492a161a162a164"},
		{func() { e.Snoozes = 5 }, "9d01a16b02c4027b7d01a171a16e00029600030000000492a161a162a16405"},
		{func() { e.LostSeen = 6 }, "9e01a16b02c4027b7d01a171a16e00029600030000000492a161a162a1640506"},
		{
			func() {
				e.History = []Record{{At: 7, Type: RecordFailed, Attempt: 8, Error: "e", Code: "c", Worker: "w", DelayMs: 9}}
			},
			"9f01a16b02c4027b7d01a171a16e00029600030000000492a161a162a164050691980107" + "0809a163a165a0a177",
		},
	} {
		tc.change()
		if got := fmt.Sprintf("%x", e.Append(nil)); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestUnknownVersionsAreTold(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"the next":              "\x95\x02\xa1k\x00\xc4\x00\x01",
		"with another layout":   "\x92\x02\x81\xa1k\x00",
		"a large number":        "\x92\xcd\xff\xff\x00",
		"longer than any known": "\xdc\x00\x14\x02" + strings.Repeat("\x00", 19),
	} {
		if _, err := DecodeEnvelope([]byte(in)); !errors.Is(err, ErrEnvelopeVersion) || errors.Is(err, ErrEnvelopeMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMalformedEnvelopes(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":                 "",
		"no array":                "\x01",
		"empty array":             "\x90",
		"version 0":               "\x95\x00\xa1k\x00\xc4\x00\x01",
		"version as text":         "\x95\xa11\xa1k\x00\xc4\x00\x01",
		"too short":               "\x94\x01\xa1k\x00\xc4\x00",
		"too long":                "\xdc\x00\x10\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\x00\xc0\x90\xc0\x00\x00\x90\x00",
		"one announced too many":  "\xdc\x00\x10\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\x00\xc0\x90\xc0\x00\x00\x90",
		"no kind":                 "\x95\x01\xa0\x00\xc4\x00\x01",
		"kind with a brace":       "\x95\x01\xa2k}\x00\xc4\x00\x01",
		"kind with a colon":       "\x95\x01\xa3k:k\x00\xc4\x00\x01",
		"queue with a space":      "\x96\x01\xa1k\x00\xc4\x00\x01\xa2q ",
		"codec 256":               "\x95\x01\xa1k\xcd\x01\x00\xc4\x00\x01",
		"payload as text":         "\x95\x01\xa1k\x00\xa1p\x01",
		"payload longer than all": "\x95\x01\xa1k\x00\xc6\x7f\xff\xff\xff\x01",
		"negative time":           "\x95\x01\xa1k\x00\xc4\x00\xff",
		"fourth lane":             "\x98\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x03",
		"negative failures":       "\x99\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\xff",
		"short options":           "\x9a\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\x00\x91\x00",
		"half a pair of meta":     "\x9b\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\x00\xc0\x91\xa1a",
		"history of 4 billion":    "\x9f\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\x00\xc0\x90\xc0\x00\x00\xdd\xff\xff\xff\xff",
		"short record":            "\x9f\x01\xa1k\x00\xc4\x00\x01\xc0\xc0\x01\x00\xc0\x90\xc0\x00\x00\x91\x91\x01",
	} {
		if _, err := DecodeEnvelope([]byte(in)); !errors.Is(err, ErrEnvelopeMalformed) || errors.Is(err, ErrEnvelopeVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEnvelopeCutAnywhere cuts at every byte, and adds one.
func TestEnvelopeCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, e := range []*Envelope{plainEnvelope(), fullEnvelope()} {
		whole := e.Append(nil)
		for i := range whole {
			if _, err := DecodeEnvelope(whole[:i]); !errors.Is(err, ErrEnvelopeMalformed) {
				t.Errorf("cut at byte %d of %d: %v", i, len(whole), err)
			}
		}
		if _, err := DecodeEnvelope(append(whole, 0)); !errors.Is(err, ErrEnvelopeMalformed) || !errors.Is(err, pack.ErrTrailing) {
			t.Errorf("with one byte more: %v", err)
		}
	}
}

// TestDecodeReplacesEverything reads a plain envelope into a full one.
func TestDecodeReplacesEverything(t *testing.T) {
	t.Parallel()
	e, want := fullEnvelope(), plainEnvelope()
	b := want.Append(nil)
	if err := e.Decode(b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	b[bytes.IndexByte(b, 'p')] = 'q'
	if e.Payload[0] != 'q' {
		t.Error("the payload was copied")
	}
}

func TestEnvelopeAllocations(t *testing.T) {
	e, full := plainEnvelope(), fullEnvelope()
	b := e.Append(nil)
	dst := make([]byte, 0, 4096)
	var into Envelope
	for _, tc := range []struct {
		name string
		want float64
		run  func()
	}{
		{"append", 0, func() { e.Append(dst) }},
		{"append with everything", 0, func() { full.Append(dst) }},
		{"decode", 0, func() { _ = into.Decode(b) }},
	} {
		if got := testing.AllocsPerRun(100, tc.run); got > tc.want {
			t.Errorf("%s: %v allocations, want %v", tc.name, got, tc.want)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add(plainEnvelope().Append(nil))
	f.Add(fullEnvelope().Append(nil))
	f.Add([]byte("\x95\x02\xa1k\x00\xc4\x00\x01"))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEnvelope(b)
		if err != nil {
			if errors.Is(err, ErrEnvelopeVersion) == errors.Is(err, ErrEnvelopeMalformed) {
				t.Errorf("neither or both of the two errors: %v", err)
			}
			return
		}
		again, err := DecodeEnvelope(e.Append(nil))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Error(diff)
		}
	})
}

func BenchmarkEnvelope(b *testing.B) {
	for _, tc := range []struct {
		name string
		e    *Envelope
	}{{"plain", plainEnvelope()}, {"full", fullEnvelope()}} {
		stored := tc.e.Append(nil)
		b.Run(tc.name+"/append", func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 4096)
			for b.Loop() {
				dst = tc.e.Append(dst[:0])
			}
		})
		b.Run(tc.name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			var e Envelope
			for b.Loop() {
				if err := e.Decode(stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
