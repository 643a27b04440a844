package pack

import (
	"encoding/binary"
	"math"
)

// Reader is a cursor over one stored value. Its first error sticks: after it
// every method returns a zero value and Err the error, so that a caller reads a
// whole record and checks once. The zero Reader reads nothing; one goroutine at
// a time may use it.
type Reader struct {
	b   []byte
	off int
	err error
}

// NewReader returns a cursor at the start of b, which it does not copy.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err returns the first error met, or nil.
func (r *Reader) Err() error { return r.err }

// Len returns the number of bytes not read yet.
func (r *Reader) Len() int { return len(r.b) - r.off }

// Close returns the first error met, or ErrTrailing when bytes are left.
func (r *Reader) Close() error {
	if r.err == nil && r.off != len(r.b) {
		r.fail(ErrTrailing)
	}
	return r.err
}

// ArrayLen reads the header of an array and returns its number of elements,
// which is at most Len: an element takes a byte at least.
func (r *Reader) ArrayLen() int {
	c := r.code()
	n := 0
	switch {
	case r.err != nil:
	case c&0xf0 == codeFixArray:
		n = int(c & 0x0f)
	case c == codeArray16:
		n = int(r.uint(2))
	case c == codeArray32:
		n = int(r.uint(4))
	default:
		r.fail(ErrType)
	}
	if n > r.Len() {
		r.fail(ErrTruncated)
		return 0
	}
	return n
}

// Int reads an integer of any width. ErrType is recorded for one beyond int64.
func (r *Reader) Int() int64 {
	c := r.code()
	switch {
	case r.err != nil:
		return 0
	case c < codeFixMap || c >= codeNegFix:
		return int64(int8(c))
	}
	switch c {
	case codeUint8:
		return int64(r.uint(1))
	case codeUint16:
		return int64(r.uint(2))
	case codeUint32:
		return int64(r.uint(4))
	case codeUint64:
		v := r.uint(8)
		if v > math.MaxInt64 {
			r.fail(ErrType)
			return 0
		}
		return int64(v)
	case codeInt8:
		return int64(int8(r.uint(1)))
	case codeInt16:
		return int64(int16(r.uint(2)))
	case codeInt32:
		return int64(int32(r.uint(4)))
	case codeInt64:
		return int64(r.uint(8))
	}
	r.fail(ErrType)
	return 0
}

// IntIn reads an integer and records ErrType when it is not in [low, high].
func (r *Reader) IntIn(low, high int64) int64 {
	v := r.Int()
	if r.err == nil && (v < low || v > high) {
		r.fail(ErrType)
		return 0
	}
	return v
}

// TextBytes reads a string and returns its bytes, which alias the input.
func (r *Reader) TextBytes() []byte {
	c := r.code()
	switch {
	case r.err != nil:
		return nil
	case c&0xe0 == codeFixStr:
		return r.take(int(c & 0x1f))
	}
	switch c {
	case codeStr8:
		return r.sized(1)
	case codeStr16:
		return r.sized(2)
	case codeStr32:
		return r.sized(4)
	}
	r.fail(ErrType)
	return nil
}

// Text reads a string and returns a copy of it.
func (r *Reader) Text() string { return string(r.TextBytes()) }

// Bytes reads a binary, or nil, and returns its bytes, which alias the input.
func (r *Reader) Bytes() []byte {
	switch c := r.code(); {
	case r.err != nil || c == codeNil:
		return nil
	case c == codeBin8:
		return r.sized(1)
	case c == codeBin16:
		return r.sized(2)
	case c == codeBin32:
		return r.sized(4)
	}
	r.fail(ErrType)
	return nil
}

// Bool reads a boolean.
func (r *Reader) Bool() bool {
	switch c := r.code(); {
	case r.err != nil:
	case c == codeTrue:
		return true
	case c != codeFalse:
		r.fail(ErrType)
	}
	return false
}

// Nil reads nil and returns true if that is the next value; otherwise it
// returns false and reads nothing.
func (r *Reader) Nil() bool {
	if r.err != nil || r.off == len(r.b) || r.b[r.off] != codeNil {
		return false
	}
	r.off++
	return true
}

// Refuse records ErrType at the current offset, for a value that was read well
// but that the caller cannot accept.
func (r *Reader) Refuse() { r.fail(ErrType) }

func (r *Reader) code() byte {
	if r.err != nil {
		return 0
	}
	if r.off == len(r.b) {
		r.fail(ErrTruncated)
		return 0
	}
	c := r.b[r.off]
	r.off++
	return c
}

// uint reads a big-endian number of width 1, 2, 4 or 8.
func (r *Reader) uint(width int) uint64 {
	b := r.take(width)
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// sized reads a length of the given width and then as many bytes.
func (r *Reader) sized(width int) []byte {
	n := r.uint(width)
	if n > uint64(r.Len()) {
		r.fail(ErrTruncated)
		return nil
	}
	return r.take(int(n))
}

// take returns the next n bytes, without room for an append to write into.
func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.Len() {
		r.fail(ErrTruncated)
		return nil
	}
	b := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return b
}

func (r *Reader) fail(reason error) {
	if r.err == nil {
		r.err = refuse(r.off, reason)
	}
}
