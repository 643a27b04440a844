package record_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/record"
)

func TestOutcomesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := record.Outcome{Kind: record.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))}
		var stored []byte
		switch want.Kind {
		case record.Value:
			want.Codec, want.Payload = rapid.Uint8().Draw(t, "codec"), rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "payload")
			stored = record.AppendValue(nil, want.Codec, want.Payload)
		case record.Failure:
			want.Code, want.Message = rapid.String().Draw(t, "code"), rapid.String().Draw(t, "message")
			want.Attempts, want.Marks = rapid.IntRange(0, 10_000).Draw(t, "attempts"), rapid.Uint64Range(0, 1<<40).Draw(t, "marks")
			if rapid.Bool().Draw(t, "child") {
				want.Run, want.State, want.Node = rapid.Int64Range(1, 1<<62).Draw(t, "run"), "failed", "charge"
			}
			stored = record.AppendFailure(nil, &want)
		default:
			stored = record.AppendTimeout(nil)
		}
		got, err := record.Decode(stored)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestTriesRoundTrip(t *testing.T) {
	t.Parallel()
	want := record.Tries{Used: 3, DueMS: 1_700_000_000_000, Error: "EOF"}
	got, err := record.DecodeTries(want.Append(nil))
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if ms, err := record.DecodeTime(record.AppendTime(nil, want.DueMS)); err != nil || ms != want.DueMS {
		t.Errorf("time %d, %v", ms, err)
	}
}

func TestLongTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	long := record.Tries{Error: strings.Repeat("é", 5<<10) + "x"}
	long.Error = "x" + long.Error
	got, err := record.DecodeTries(long.Append(nil))
	if err != nil || len(got.Error) != 8<<10-1 || !strings.HasPrefix(long.Error, got.Error) {
		t.Errorf("kept %d bytes, %v", len(got.Error), err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "\x90", "\x91\x00", "\x91\x03", "\x92\x02\x00", "\x93\x00\x01\xc4\x05a", "\x91\x02\x00", "\x95\x01"} {
		if o, err := record.Decode([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, o)
		}
	}
	for _, bad := range []string{"", "\x90", "\x93\xff\x00\xa0", "\x93\x01\x02\xa0x"} {
		if o, err := record.DecodeTries([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, o)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(record.AppendValue(nil, 1, []byte("x")))
	f.Add(record.AppendFailure(nil, &record.Outcome{Code: "error", Message: "EOF", Run: 7}))
	f.Add(record.AppendTimeout(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = record.Decode(b)
		_, _ = record.DecodeTries(b)
		_, _ = record.DecodeTime(b)
	})
}
