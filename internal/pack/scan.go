package pack

import (
	"encoding/binary"
	"fmt"
)

// Limits bounds what a payload may hold. A zero field means the default, which
// is also the most that can be asked for.
type Limits struct {
	Depth    int // containers inside each other, 64
	Elements int // values in all, keys of maps included, 1,048,576
}

const (
	maxDepth    = 64
	maxElements = 1 << 20
)

func (l Limits) orDefault() Limits {
	if l.Depth <= 0 || l.Depth > maxDepth {
		l.Depth = maxDepth
	}
	if l.Elements <= 0 || l.Elements > maxElements {
		l.Elements = maxElements
	}
	return l
}

// Scan returns nil when b is exactly one MessagePack value within the limits and
// every length it declares is covered by bytes that are there. It takes time in
// proportion to the number of values, allocates nothing when it succeeds, and
// does not look into extensions, whose bodies are opaque (see Guard). Extension
// types that MessagePack reserves are refused, except its timestamp.
func Scan(b []byte, limits Limits) error {
	return scan(b, limits.orDefault(), func(int) {})
}

// scan is Scan; extension is called with the offset of each extension's body
// that is not empty.
//
// open[d] counts the values still missing in the container at depth d; the one
// value expected is a container of its own, at depth 0.
func scan(b []byte, limits Limits, extension func(body int)) error {
	var open [maxDepth + 1]uint64
	depth, off := 0, 0
	open[0] = 1
	for elements := 1; ; elements++ {
		for open[depth] == 0 {
			if depth == 0 {
				if off != len(b) {
					return refuse(off, ErrTrailing)
				}
				return nil
			}
			depth--
		}
		open[depth]--
		if off == len(b) {
			return refuse(off, ErrTruncated)
		}
		if elements > limits.Elements {
			return refuse(off, ErrElements)
		}
		size, children, err := measure(b[off:])
		switch {
		case err != nil:
			return refuse(off, err)
		case size+children > uint64(len(b)-off): // a child takes a byte at least
			return refuse(off, ErrTruncated)
		case isExtension(b[off]):
			body := off + bodyOffset(b[off])
			if int8(b[body-1]) < extTimestamp {
				return refuse(off, ErrType)
			}
			if end := off + int(size); body < end {
				extension(body)
			}
		}
		off += int(size)
		if children == 0 {
			continue
		}
		if depth == limits.Depth {
			return refuse(off, ErrDepth)
		}
		depth++
		open[depth] = children
	}
}

// measure returns how many bytes the value at the start of b takes without its
// children, and how many children it has. Both come from what it declares and
// may exceed b.
func measure(b []byte) (size, children uint64, err error) {
	switch c := b[0]; {
	case c < codeFixMap || c >= codeNegFix:
		return 1, 0, nil
	case c < codeFixArray:
		return 1, 2 * uint64(c&0x0f), nil
	case c < codeFixStr:
		return 1, uint64(c & 0x0f), nil
	case c < codeNil:
		return 1 + uint64(c&0x1f), 0, nil
	}
	shape := shapes[b[0]-codeNil]
	if shape.kind == shapeNone {
		return 0, 0, ErrType
	}
	declared, ok := bigEndian(b[1:], shape.width)
	if !ok {
		return 0, 0, ErrTruncated
	}
	size = uint64(1) + uint64(shape.width) + uint64(shape.fixed)
	switch shape.kind {
	case shapeArray:
		return size, declared, nil
	case shapeMap:
		return size, 2 * declared, nil
	default: // shapeFlat
		return size + declared, 0, nil
	}
}

// The shapes of values: flat ones take 1+width+fixed bytes and as many as the
// length of the given width declares, containers as many children.
const (
	shapeNone = iota
	shapeFlat
	shapeArray
	shapeMap
)

// shapes describes the codes 0xc0 to 0xdf.
var shapes = [32]struct{ kind, width, fixed uint8 }{
	{shapeFlat, 0, 0},                    // nil
	{shapeNone, 0, 0},                    // never used
	{shapeFlat, 0, 0}, {shapeFlat, 0, 0}, // false, true
	{shapeFlat, 1, 0}, {shapeFlat, 2, 0}, {shapeFlat, 4, 0}, // bin 8, 16, 32
	{shapeFlat, 1, 1}, {shapeFlat, 2, 1}, {shapeFlat, 4, 1}, // ext 8, 16, 32
	{shapeFlat, 0, 4}, {shapeFlat, 0, 8}, // float 32, 64
	{shapeFlat, 0, 1}, {shapeFlat, 0, 2}, {shapeFlat, 0, 4}, {shapeFlat, 0, 8}, // uint 8 … 64
	{shapeFlat, 0, 1}, {shapeFlat, 0, 2}, {shapeFlat, 0, 4}, {shapeFlat, 0, 8}, // int 8 … 64
	{shapeFlat, 0, 2}, {shapeFlat, 0, 3}, {shapeFlat, 0, 5}, {shapeFlat, 0, 9}, {shapeFlat, 0, 17}, // fixext 1 … 16
	{shapeFlat, 1, 0}, {shapeFlat, 2, 0}, {shapeFlat, 4, 0}, // str 8, 16, 32
	{shapeArray, 2, 0}, {shapeArray, 4, 0}, // array 16, 32
	{shapeMap, 2, 0}, {shapeMap, 4, 0}, // map 16, 32
}

// extTimestamp is the one extension type that MessagePack defines; it reserves
// those below.
const extTimestamp = -1

func isExtension(c byte) bool {
	return c >= codeExt8 && c <= codeExt32 || c >= codeFixExt1 && c <= codeFixExt16
}

// bodyOffset returns where the body of an extension with code c begins: behind
// the code, the length and the type.
func bodyOffset(c byte) int { return 2 + int(shapes[c-codeNil].width) }

// bigEndian reads a number of width 0 (which is zero), 1, 2 or 4.
func bigEndian(b []byte, width uint8) (uint64, bool) {
	if len(b) < int(width) {
		return 0, false
	}
	switch width {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), true
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), true
	}
	return 0, true
}

func refuse(off int, reason error) error { return fmt.Errorf("byte %d: %w", off, reason) }
