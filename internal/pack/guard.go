package pack

import (
	"io"
	"slices"
)

// Guard is an io.Reader and io.ByteScanner over one payload, for a MessagePack
// decoder that trusts lengths. It scans the payload first, and then closes the
// one way around the scan: a decoder that wants a map and meets an extension may
// step over the extension's header and take its opaque body for values, whose
// lengths no scan has seen. Decoders read an extension's body as a block and the
// code of a value as a byte, so the Guard refuses to give out the first byte of a
// body as a single byte.
//
// The zero Guard is empty. One goroutine at a time may use it.
type Guard struct {
	b      []byte
	off    int
	bodies []int // where extensions' bodies begin, ascending
}

// Reset points the guard at b after scanning it, and returns what Scan does.
func (g *Guard) Reset(b []byte, limits Limits) error {
	g.b, g.off, g.bodies = b, 0, g.bodies[:0]
	return scan(b, limits.orDefault(), func(body int) { g.bodies = append(g.bodies, body) })
}

// Release drops the reference to the payload and returns the memory beyond what
// ordinary payloads need.
func (g *Guard) Release() {
	const ordinary = 1024
	g.b, g.off = nil, 0
	if cap(g.bodies) > ordinary {
		g.bodies = nil
	}
}

// Len returns the number of bytes not read yet.
func (g *Guard) Len() int { return len(g.b) - g.off }

// Read implements io.Reader.
func (g *Guard) Read(p []byte) (int, error) {
	if g.off == len(g.b) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, g.b[g.off:])
	g.off += n
	return n, nil
}

// ReadByte implements io.ByteReader. It returns ErrExtension at the start of an
// extension's body.
func (g *Guard) ReadByte() (byte, error) {
	if g.off == len(g.b) {
		return 0, io.EOF
	}
	if len(g.bodies) > 0 {
		if _, found := slices.BinarySearch(g.bodies, g.off); found {
			return 0, refuse(g.off, ErrExtension)
		}
	}
	c := g.b[g.off]
	g.off++
	return c, nil
}

// UnreadByte implements io.ByteScanner. It steps back over any byte, not only
// over one that ReadByte returned.
func (g *Guard) UnreadByte() error {
	if g.off == 0 {
		return io.ErrNoProgress
	}
	g.off--
	return nil
}
