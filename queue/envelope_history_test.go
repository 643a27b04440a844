package queue

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHistoryStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return strings.Repeat(rapid.SampledFrom([]string{"x", "é", "世", "\xff"}).Draw(t, label), rapid.IntRange(0, 20_000).Draw(t, label+" length"))
		}
		var e Envelope
		first := Record{}
		for i := range rapid.IntRange(1, 60).Draw(t, "records") {
			r := Record{
				At: int64(i), Type: RecordType(rapid.IntRange(1, 3).Draw(t, "type")), Attempt: i,
				Error: text("error"), Stack: text("stack"), Code: text("code"), Worker: text("worker"), DelayMs: int64(i) - 1,
			}
			e.AddRecord(r)
			last := e.History[len(e.History)-1]
			if last.At != r.At {
				t.Fatal("the newest record is not the last one")
			}
			if first.Type == 0 && r.Type == RecordFailed {
				first = last
			}
			checkHistory(t, &e, first)
		}
	})
}

func checkHistory(t *rapid.T, e *Envelope, first Record) {
	if n := len(e.History); n > maxHistoryRecords {
		t.Fatalf("%d records", n)
	}
	if n := len(appendHistory(nil, e.History)); n > maxHistoryBytes {
		t.Fatalf("%d bytes", n)
	}
	kept := first.Type == 0
	for i, r := range e.History {
		if i > 0 && r.At <= e.History[i-1].At {
			t.Fatal("records are out of order")
		}
		if len(r.Error) > maxErrorBytes || len(r.Stack) > maxStackBytes || len(r.Code) > maxTagBytes || len(r.Worker) > maxTagBytes || r.DelayMs < 0 {
			t.Fatalf("record %d is out of bounds", i)
		}
		if !utf8.ValidString(r.Error + r.Stack + r.Code + r.Worker) {
			t.Fatalf("record %d is no UTF-8", i)
		}
		kept = kept || r.At == first.At && r.Error == first.Error
	}
	if !kept {
		t.Fatal("the first failure is gone")
	}
}

// TestStacksGoFirst: 8 records of 13 KiB lose the older stacks and no record.
func TestStacksGoFirst(t *testing.T) {
	t.Parallel()
	var e Envelope
	for i := range 8 {
		e.AddRecord(Record{At: int64(i), Type: RecordFailed, Error: strings.Repeat("e", 5<<10), Stack: strings.Repeat("s", 8<<10)})
	}
	var stacks strings.Builder
	for _, r := range e.History {
		if r.Stack == "" {
			stacks.WriteByte('-')
		} else {
			stacks.WriteByte('s')
		}
	}
	if got := stacks.String(); got != "------ss" {
		t.Errorf("stacks left: %s", got)
	}
}

// TestFirstFailureOutlivesALaterFlood: a snooze before it may go, it may not.
func TestFirstFailureOutlivesALaterFlood(t *testing.T) {
	t.Parallel()
	var e Envelope
	e.AddRecord(Record{Type: RecordSnoozed})
	e.AddRecord(Record{Type: RecordFailed, Error: "the cause"})
	for range 100 {
		e.AddRecord(Record{Type: RecordFailed, Error: strings.Repeat("later", 1000)})
	}
	if e.History[0].Error != "the cause" {
		t.Errorf("first: %.20s", e.History[0].Error)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"12345678", "12345678"},
		{"123456789", "12345…"},
		{"1234世界", "1234…"},
		{"a\xffb", "a?b"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff", "?…"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80", "…"},
	} {
		if got := clip(tc.in, 8); got != tc.want {
			t.Errorf("clip(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestRecordTypesHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]RecordType{}
	for typ := RecordFailed; typ <= RecordPromoted; typ++ {
		name := typ.String()
		if _, twice := seen[name]; twice || name == "unknown" {
			t.Errorf("type %d is called %q", typ, name)
		}
		seen[name] = typ
	}
	if got := RecordType(200).String(); got != "unknown" {
		t.Errorf("type 200 is called %q", got)
	}
}
