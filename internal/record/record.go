// Package record is the layout of what a task's journal and the signals of a run
// hold. A record that was taken from a signal is that signal, byte for byte: both
// have the layout of an [Outcome].
//
// It may import internal/pack.
package record

import (
	"math"
	"unicode/utf8"

	"github.com/cyclone-queue/cyclone/internal/pack"
)

// Outcome is how a recorded step ended, what a signal brings, or how a child run
// ended: one MessagePack array,
//
//	[0, codec, payload]
//	[1, code, message, attempts, marks]
//	[1, code, message, attempts, marks, run, state, node]
//	[2]
//
// a value, a failure, a failure of a child run, or a wait that timed out.
type Outcome struct {
	Kind    Kind
	Codec   uint8
	Payload []byte // aliases what was decoded

	Code, Message string
	Attempts      int
	Marks         uint64 // errors that the failure matches, see package step
	Run           int64  // of a child run that failed, else 0
	State, Node   string
}

// Kind tells what an outcome is.
type Kind byte

// The kinds of outcomes.
const (
	Value Kind = iota
	Failure
	Timeout
)

// maxMessage bounds the text of a failure.
const maxMessage = 8 << 10

// AppendValue appends the outcome of a step that returned a value, and of a signal.
func AppendValue(dst []byte, codec uint8, payload []byte) []byte {
	dst = pack.AppendArray(dst, 3)
	dst = pack.AppendUint(dst, uint64(Value))
	dst = pack.AppendUint(dst, uint64(codec))
	return pack.AppendBytes(dst, payload)
}

// AppendFailure appends the failure that o describes. A long text is cut.
func AppendFailure(dst []byte, o *Outcome) []byte {
	n := 5
	if o.Run != 0 {
		n = 8
	}
	dst = pack.AppendArray(dst, n)
	dst = pack.AppendUint(dst, uint64(Failure))
	dst = pack.AppendString(dst, o.Code)
	dst = pack.AppendString(dst, cut(o.Message))
	dst = pack.AppendInt(dst, int64(o.Attempts))
	dst = pack.AppendUint(dst, o.Marks)
	if o.Run != 0 {
		dst = pack.AppendInt(dst, o.Run)
		dst = pack.AppendString(dst, o.State)
		dst = pack.AppendString(dst, o.Node)
	}
	return dst
}

// AppendTimeout appends the outcome of a wait that timed out.
func AppendTimeout(dst []byte) []byte {
	return pack.AppendUint(pack.AppendArray(dst, 1), uint64(Timeout))
}

// Decode reads an outcome.
func Decode(b []byte) (o Outcome, err error) {
	r := pack.NewReader(b)
	n := r.ArrayLen()
	o.Kind = Kind(r.IntIn(int64(Value), int64(Timeout)))
	switch {
	case o.Kind == Value && n == 3:
		o.Codec, o.Payload = uint8(r.IntIn(0, math.MaxUint8)), r.Bytes()
	case o.Kind == Failure && (n == 5 || n == 8):
		o.Code, o.Message, o.Attempts = r.Text(), r.Text(), int(r.IntIn(0, math.MaxInt32))
		o.Marks = uint64(r.IntIn(0, math.MaxInt64))
		if n == 8 {
			o.Run, o.State, o.Node = r.IntIn(1, math.MaxInt64), r.Text(), r.Text()
		}
	case o.Kind == Timeout && n == 1:
	default:
		r.Refuse()
	}
	return o, r.Close()
}

// Tries is how far a recorded step is that has not ended: [used, due ms, error].
type Tries struct {
	Used  int    // tries that have failed
	DueMS int64  // when the next one is due, by Redis' clock
	Error string // of the last one
}

// Append appends the tries. A long text is cut.
func (t *Tries) Append(dst []byte) []byte {
	dst = pack.AppendArray(dst, 3)
	dst = pack.AppendInt(dst, int64(t.Used))
	dst = pack.AppendInt(dst, t.DueMS)
	return pack.AppendString(dst, cut(t.Error))
}

// DecodeTries reads tries.
func DecodeTries(b []byte) (t Tries, err error) {
	r := pack.NewReader(b)
	if r.ArrayLen() != 3 {
		r.Refuse()
	}
	t = Tries{Used: int(r.IntIn(0, math.MaxInt32)), DueMS: r.IntIn(0, math.MaxInt64), Error: r.Text()}
	return t, r.Close()
}

// AppendTime appends a time in ms; DecodeTime reads it.
func AppendTime(dst []byte, ms int64) []byte { return pack.AppendInt(dst, ms) }

// DecodeTime reads a time in ms, or a run's id.
func DecodeTime(b []byte) (int64, error) {
	r := pack.NewReader(b)
	ms := r.IntIn(0, math.MaxInt64)
	return ms, r.Close()
}

// cut shortens a text to what is kept of it, between two characters.
func cut(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
