package pack

import "errors"

// The reasons for which input is refused. They are wrapped with the offset at
// which reading stopped; match them with errors.Is.
var (
	// ErrTruncated is returned when a value or a declared length reaches beyond
	// the end of the input.
	ErrTruncated = errors.New("declared length exceeds the remaining bytes")
	// ErrType is returned when the next value is not of the type that was asked
	// for, does not fit it, or begins with a byte that starts no value.
	ErrType = errors.New("unexpected value")
	// ErrDepth is returned when containers are nested deeper than the limit.
	ErrDepth = errors.New("nested too deeply")
	// ErrElements is returned when the input holds more values than the limit.
	ErrElements = errors.New("too many elements")
	// ErrTrailing is returned when bytes follow the one value expected.
	ErrTrailing = errors.New("bytes after the value")
	// ErrExtension is returned when a decoder reads the opaque body of an
	// extension as though it were a value.
	ErrExtension = errors.New("extension where another value is expected")
)
