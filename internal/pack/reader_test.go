package pack

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValuesComeBackAsTheyWereAppended(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		ints := rapid.SliceOfN(rapid.Int64(), 0, 20).Draw(t, "ints")
		text := rapid.String().Draw(t, "text")
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		flag := rapid.Bool().Draw(t, "flag")

		b = AppendArray(b, len(ints))
		for _, v := range ints {
			b = AppendInt(b, v)
		}
		b = AppendNil(AppendBool(AppendBytes(AppendString(b, text), data), flag))

		r := NewReader(b)
		if n := r.ArrayLen(); n != len(ints) {
			t.Fatalf("array of %d read as %d", len(ints), n)
		}
		for _, want := range ints {
			if got := r.Int(); got != want {
				t.Fatalf("int %d read as %d", want, got)
			}
		}
		if got := r.Text(); got != text {
			t.Fatalf("text %q read as %q", text, got)
		}
		if got := r.Bytes(); string(got) != string(data) {
			t.Fatalf("bytes %x read as %x", data, got)
		}
		if got := r.Bool(); got != flag {
			t.Fatalf("bool %v read as %v", flag, got)
		}
		if !r.Nil() {
			t.Fatal("nil is not read as nil")
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEveryWidth crosses each border between two encodings.
func TestEveryWidth(t *testing.T) {
	t.Parallel()
	for _, v := range []int64{
		0, 127, 128, 255, 256, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64,
		-1, -32, -33, math.MinInt8, math.MinInt8 - 1, math.MinInt16, math.MinInt16 - 1, math.MinInt32, math.MinInt32 - 1, math.MinInt64,
	} {
		r := NewReader(AppendInt(nil, v))
		if got := r.Int(); got != v || r.Close() != nil {
			t.Errorf("%d read as %d, %v", v, got, r.Err())
		}
	}
	for _, n := range []int{0, 31, 32, 255, 256, math.MaxUint16, math.MaxUint16 + 1} {
		s := strings.Repeat("x", n)
		r := NewReader(AppendBytes(AppendString(nil, s), []byte(s)))
		if got := r.Text(); got != s {
			t.Errorf("string of %d bytes read as one of %d", n, len(got))
		}
		if got := r.Bytes(); string(got) != s || r.Close() != nil {
			t.Errorf("binary of %d bytes read as one of %d, %v", n, len(got), r.Err())
		}
		a := append(AppendArray(nil, n), make([]byte, n)...)
		r = NewReader(a)
		if got := r.ArrayLen(); got != n || r.Err() != nil {
			t.Errorf("array of %d read as one of %d, %v", n, got, r.Err())
		}
	}
}

func TestReaderRefusesAndKeepsItsFirstError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   string
		read func(*Reader)
		want error
	}{
		{"nothing there", "", func(r *Reader) { r.Int() }, ErrTruncated},
		{"half an int", "\xcd\x01", func(r *Reader) { r.Int() }, ErrTruncated},
		{"array of 4 billion", "\xdd\xff\xff\xff\xff", func(r *Reader) { r.ArrayLen() }, ErrTruncated},
		{"binary of 2 GiB", "\xc6\x7f\xff\xff\xff", func(r *Reader) { r.Bytes() }, ErrTruncated},
		{"string of 4 GiB", "\xdb\xff\xff\xff\xff", func(r *Reader) { r.Text() }, ErrTruncated},
		{"beyond int64", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", func(r *Reader) { r.Int() }, ErrType},
		{"out of range", "\x05", func(r *Reader) { r.IntIn(0, 4) }, ErrType},
		{"a string for an int", "\xa1x", func(r *Reader) { r.Int() }, ErrType},
		{"an int for a string", "\x01", func(r *Reader) { r.Text() }, ErrType},
		{"an int for a binary", "\x01", func(r *Reader) { r.Bytes() }, ErrType},
		{"an int for an array", "\x01", func(r *Reader) { r.ArrayLen() }, ErrType},
		{"an int for a bool", "\x01", func(r *Reader) { r.Bool() }, ErrType},
		{"left over", "\x01\x02", func(r *Reader) { r.Int() }, ErrTrailing},
		{"refused by the caller", "\x01", func(r *Reader) { r.Int(); r.Refuse() }, ErrType},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := NewReader([]byte(tc.in))
			tc.read(&r)
			first := r.Close()
			if !errors.Is(first, tc.want) {
				t.Fatalf("got %v, want %v", first, tc.want)
			}
			if r.Int() != 0 || r.Text() != "" || r.Bytes() != nil || r.ArrayLen() != 0 || r.Bool() || r.Nil() || r.Close() != first {
				t.Error("a reader with an error still reads, or changes its error")
			}
		})
	}
}

// TestBytesLeaveNoRoom guards the neighbours of a slice that aliases the input.
func TestBytesLeaveNoRoom(t *testing.T) {
	t.Parallel()
	in := AppendInt(AppendBytes(nil, []byte("ab")), 7)
	r := NewReader(in)
	_ = append(r.Bytes(), 'x')
	if got := r.Int(); got != 7 {
		t.Errorf("an append to what was read wrote over the input: %d", got)
	}
}

func TestAppendingAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		b := AppendInt(AppendArray(dst, 5), 1<<40)
		b = AppendBytes(AppendString(b, "some text"), []byte("data"))
		_ = AppendNil(AppendBool(b, true))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
