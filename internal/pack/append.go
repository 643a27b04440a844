package pack

import (
	"encoding/binary"
	"math"
)

// The MessagePack codes that this package names. The families with a value in
// the low bits (fixint, fixmap, fixarray, fixstr) are tested by range.
const (
	codeFixMap   = 0x80
	codeFixArray = 0x90
	codeFixStr   = 0xa0
	codeNil      = 0xc0
	codeFalse    = 0xc2
	codeTrue     = 0xc3
	codeBin8     = 0xc4
	codeBin16    = 0xc5
	codeBin32    = 0xc6
	codeExt8     = 0xc7
	codeExt32    = 0xc9
	codeUint8    = 0xcc
	codeUint16   = 0xcd
	codeUint32   = 0xce
	codeUint64   = 0xcf
	codeInt8     = 0xd0
	codeInt16    = 0xd1
	codeInt32    = 0xd2
	codeInt64    = 0xd3
	codeFixExt1  = 0xd4
	codeFixExt16 = 0xd8
	codeStr8     = 0xd9
	codeStr16    = 0xda
	codeStr32    = 0xdb
	codeArray16  = 0xdc
	codeArray32  = 0xdd
	codeNegFix   = 0xe0
)

// AppendArray appends the header of an array of n elements. n is at least 0 and
// at most 2³²-1; the caller appends exactly n values after it.
func AppendArray(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, codeFixArray|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, codeArray16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(dst, codeArray32), uint32(n))
	}
}

// AppendInt appends v in the fewest bytes that hold it, 1 to 9.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(dst, uint64(v))
	case v >= -32:
		return append(dst, byte(v))
	case v >= math.MinInt8:
		return append(dst, codeInt8, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, codeInt16), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, codeInt32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(dst, codeInt64), uint64(v))
	}
}

// AppendUint appends v in the fewest bytes that hold it, 1 to 9.
func AppendUint(dst []byte, v uint64) []byte {
	switch {
	case v < 0x80:
		return append(dst, byte(v))
	case v <= math.MaxUint8:
		return append(dst, codeUint8, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, codeUint16), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, codeUint32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(dst, codeUint64), v)
	}
}

// AppendString appends s. Strings are shorter than 4 GiB.
func AppendString(dst []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		dst = append(dst, codeFixStr|byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, codeStr8, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, codeStr16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, codeStr32), uint32(n))
	}
	return append(dst, s...)
}

// AppendBytes appends b as binary; nil and empty are the same value. Binaries
// are shorter than 4 GiB.
func AppendBytes(dst, b []byte) []byte {
	switch n := len(b); {
	case n <= math.MaxUint8:
		dst = append(dst, codeBin8, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, codeBin16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, codeBin32), uint32(n))
	}
	return append(dst, b...)
}

// AppendNil appends nil.
func AppendNil(dst []byte) []byte { return append(dst, codeNil) }

// AppendBool appends v.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}
