package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestScanRefusesWhatKillsADecoder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   []byte
		want error
	}{
		{"array of 4 billion", []byte("\xdd\xff\xff\xff\xff"), ErrTruncated},
		{"map of 4 billion", []byte("\xdf\xff\xff\xff\xff"), ErrTruncated},
		{"binary of 2 GiB", []byte("\xc6\x7f\xff\xff\xff"), ErrTruncated},
		{"string of 4 GiB", []byte("\xdb\xff\xff\xff\xff"), ErrTruncated},
		{"extension of 4 GiB", []byte("\xc9\xff\xff\xff\xff\x01"), ErrTruncated},
		{"array of 32 GiB in 9 bytes", []byte("\xdd\xff\xff\xff\xff\x01\x01\x01\x01"), ErrTruncated},
		{"20 MB of nesting", bytes.Repeat([]byte{0x91}, 20<<20), ErrDepth},
		{"20 MB of nested maps", bytes.Repeat([]byte{0x81, 0x01}, 10<<20), ErrDepth},
		{"2 million values", append([]byte("\xdd\x00\x20\x00\x00"), make([]byte, 2<<20)...), ErrElements},
		{"nothing", nil, ErrTruncated},
		{"half a length", []byte("\xdd\xff"), ErrTruncated},
		{"half a pair", []byte("\x81\x01"), ErrTruncated},
		{"the code that is never used", []byte{0xc1}, ErrType},
		{"a reserved extension type", []byte("\xd4\x80\x00"), ErrType},
		{"two values", []byte("\x01\x02"), ErrTrailing},
		{"a byte after an array", []byte("\x91\x01\x02"), ErrTrailing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := Scan(tc.in, Limits{}); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestScanAcceptsTheLimitsAndNotOneMore(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0xc0) }
	wide := func(n int) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{0xdd}, uint32(n)), make([]byte, n)...)
	}
	for _, tc := range []struct {
		name   string
		in     []byte
		limits Limits
		want   error
	}{
		{"64 deep", nested(64), Limits{}, nil},
		{"65 deep", nested(65), Limits{}, ErrDepth},
		{"a greater limit is no limit", nested(65), Limits{Depth: 1000}, ErrDepth},
		{"own depth", nested(3), Limits{Depth: 3}, nil},
		{"one below own depth", nested(4), Limits{Depth: 3}, ErrDepth},
		{"a million values", wide(maxElements - 1), Limits{}, nil},
		{"one more", wide(maxElements), Limits{}, ErrElements},
		{"own number", wide(9), Limits{Elements: 10}, nil},
		{"one more than that", wide(10), Limits{Elements: 10}, ErrElements},
		{"empty containers at the limit", append(bytes.Repeat([]byte{0x91}, 64), 0x90), Limits{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := Scan(tc.in, tc.limits); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestScanEveryCode tries all 256 first bytes with lengths from nothing to far
// too much, and compares with a decoder that skips what it reads.
func TestScanEveryCode(t *testing.T) {
	t.Parallel()
	for code := range 256 {
		for _, tail := range []string{"", "\x00", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x01\x05\x05", "\x7f\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
			compareWithSkip(t, append([]byte{byte(code)}, tail...))
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, v := range []any{nil, 1, "text", []int{1, 2}, map[string]any{"a": []any{1.5, true}}, [][]byte{{1}}} {
		b, err := msgpack.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Add([]byte("\x92\xd7\xff\x81\xa1a\xdd\xff\xff\xff\xff\x05"))
	f.Add([]byte(`{"a":[1,"\"]"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		compareWithSkip(t, b)
		compareWithJSON(t, b)
		decodeGuarded(b)
	})
}

// compareWithSkip checks that Scan accepts what an independent decoder walks over
// from end to end, and nothing else.
func compareWithSkip(t *testing.T, b []byte) {
	t.Helper()
	r := bytes.NewReader(b)
	walks := len(b) < 4096 && msgpack.NewDecoder(r).Skip() == nil && r.Len() == 0
	err := Scan(b, Limits{})
	switch {
	case err == nil && !walks:
		t.Errorf("% x: accepted, but a decoder cannot walk over it", b)
	case err != nil && walks && !errors.Is(err, ErrDepth) && !hasReservedExtension(b):
		t.Errorf("% x: refused (%v), but a decoder walks over it", b, err)
	}
}

// hasReservedExtension says that there may be one: some extension's code is in b.
func hasReservedExtension(b []byte) bool { return slices.ContainsFunc(b, isExtension) }

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		items := make([]map[string]any, n)
		for i := range items {
			items[i] = map[string]any{"id": i, "name": "somebody", "tags": []string{"a", "b"}}
		}
		in, err := msgpack.Marshal(items)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dB", len(in)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if err := Scan(in, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
