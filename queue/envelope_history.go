package queue

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cyclone-queue/cyclone/internal/pack"
)

// The bounds of an envelope's history. A step that fails ten thousand times must
// not grow, and the first failure is the one worth reading.
const (
	maxHistoryRecords = 20
	maxHistoryBytes   = 64 << 10
	maxErrorBytes     = 8 << 10
	maxStackBytes     = 8 << 10
	maxTagBytes       = 128 // a code, a worker's id
	// recordOverhead is above what a record takes beside its texts: an array
	// header, four string headers, four integers.
	recordOverhead = 1 + 4*5 + 4*9
)

// RecordType says what happened to an attempt. The numbers are stored.
type RecordType uint8

// The record types; String gives the word that events use.
const (
	RecordFailed RecordType = iota + 1
	RecordSnoozed
	RecordReleased
	RecordLost
	RecordDiscarded
	RecordCancelled
	RecordRetried
	RecordPromoted
)

// String returns the participle that events use too, such as "failed", and
// "unknown" for a number that this program has no name for.
func (t RecordType) String() string {
	switch t {
	case RecordFailed:
		return "failed"
	case RecordSnoozed:
		return "snoozed"
	case RecordReleased:
		return "released"
	case RecordLost:
		return "lost"
	case RecordDiscarded:
		return "discarded"
	case RecordCancelled:
		return "cancelled"
	case RecordRetried:
		return "retried"
	case RecordPromoted:
		return "promoted"
	}
	return "unknown"
}

// Record is one entry of a step's history.
type Record struct {
	// At is when it happened, in milliseconds since 1970 by Redis' clock.
	At   int64
	Type RecordType
	// Attempt is the ordinal of the attempt, from 1.
	Attempt int
	// Error is the error's text and Code its class; Stack is there after a panic.
	Error, Code, Stack string
	// Worker is the id of the worker that held the lease.
	Worker string
	// DelayMs is how long the step was made to wait after it.
	DelayMs int64
}

// AddRecord appends r to the history and brings it within bounds: error and
// stack 8 KiB each, 20 records, 64 KiB in all. Stacks go before records, older
// ones before newer ones, and the first failure stays whatever comes after it.
// Longer texts are cut, with an ellipsis at the end.
func (e *Envelope) AddRecord(r Record) {
	r.Error = clip(r.Error, maxErrorBytes)
	r.Stack = clip(r.Stack, maxStackBytes)
	r.Code = clip(r.Code, maxTagBytes)
	r.Worker = clip(r.Worker, maxTagBytes)
	r.DelayMs = max(r.DelayMs, 0)
	e.History = append(e.History, r)
	for len(e.History) > maxHistoryRecords {
		e.dropRecord()
	}
	size := 0
	for i := range e.History {
		size += e.History[i].size()
	}
	for i := 0; i < len(e.History) && size > maxHistoryBytes; i++ {
		size -= len(e.History[i].Stack)
		e.History[i].Stack = ""
	}
	for len(e.History) > 1 && size > maxHistoryBytes {
		size -= e.dropRecord()
	}
}

// dropRecord removes the oldest record that is not the first failure and returns
// its size.
func (e *Envelope) dropRecord() int {
	oldest := 0
	if e.History[0].Type == RecordFailed {
		oldest = 1
	}
	size := e.History[oldest].size()
	e.History = slices.Delete(e.History, oldest, oldest+1)
	return size
}

func (r *Record) size() int {
	return recordOverhead + len(r.Error) + len(r.Code) + len(r.Stack) + len(r.Worker)
}

// clip returns s as valid UTF-8 of at most limit bytes, which ends in an
// ellipsis if something was cut off. The result does not pin a longer s.
func clip(s string, limit int) string {
	const ellipsis = "…"
	if len(s) > limit {
		cut := limit - len(ellipsis)
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + ellipsis
	}
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "?")
}

func appendHistory(dst []byte, history []Record) []byte {
	dst = pack.AppendArray(dst, len(history))
	for i := range history {
		r := &history[i]
		dst = pack.AppendArray(dst, 8)
		dst = pack.AppendUint(dst, uint64(r.Type))
		dst = pack.AppendInt(dst, r.At)
		dst = pack.AppendInt(dst, int64(r.Attempt))
		dst = pack.AppendInt(dst, r.DelayMs)
		dst = pack.AppendString(dst, r.Code)
		dst = pack.AppendString(dst, r.Error)
		dst = pack.AppendString(dst, r.Stack)
		dst = pack.AppendString(dst, r.Worker)
	}
	return dst
}

func readHistory(r *pack.Reader) (history []Record) {
	for range r.ArrayLen() {
		if r.ArrayLen() != 8 {
			r.Refuse()
		}
		record := Record{
			Type:    RecordType(r.IntIn(0, math.MaxUint8)),
			At:      r.IntIn(0, maxStoredInt),
			Attempt: int(r.IntIn(0, math.MaxInt32)),
			DelayMs: r.IntIn(0, maxStoredInt),
			Code:    r.Text(),
			Error:   r.Text(),
			Stack:   r.Text(),
			Worker:  r.Text(),
		}
		if r.Err() != nil {
			return nil
		}
		history = append(history, record)
	}
	return history
}
