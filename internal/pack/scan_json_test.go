package pack

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestScanJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   string
		want error
	}{
		{"a number", `1`, nil},
		{"an object", `{"a": [1, 2.5, {"b": null}], "c": "d"}`, nil},
		{"brackets in a string", `"` + strings.Repeat("[{", 1000) + `"`, nil},
		{"escaped quotes", `["\"[", "\\", "\\\"]["]`, nil},
		{"64 deep", strings.Repeat("[", 64) + strings.Repeat("]", 64), nil},
		{"65 deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), ErrDepth},
		{"20 MB of brackets", strings.Repeat("[", 20<<20), ErrDepth},
		{"20 MB of objects", strings.Repeat(`{"a":`, 4<<20), ErrDepth},
		{"a million values", "[" + strings.Repeat("1,", maxElements-2) + "1]", nil},
		{"one more", "[" + strings.Repeat("1,", maxElements-1) + "1]", ErrElements},
		{"not closed", `[1`, ErrTruncated},
		{"closed too often", `[1]]`, ErrType},
		{"string not closed", `["a`, ErrTruncated},
		{"string ends in a backslash", `"a\`, ErrTruncated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := ScanJSON([]byte(tc.in), Limits{}); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// compareWithJSON checks that no valid JSON is refused except for its limits.
func compareWithJSON(t *testing.T, b []byte) {
	t.Helper()
	err := ScanJSON(b, Limits{})
	if err != nil && json.Valid(b) && !errors.Is(err, ErrDepth) && !errors.Is(err, ErrElements) {
		t.Errorf("%q: valid, but refused: %v", b, err)
	}
}
