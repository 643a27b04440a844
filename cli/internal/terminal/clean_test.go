package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile are texts that would do something to a terminal or to its reader.
var hostile = map[string]string{
	"\x1b[2J\x1b[H":             `\x1b[2J\x1b[H`,              // clears the screen
	"\x1b]52;c;cm0gLXJmIC8=\a":  `\x1b]52;c;cm0gLXJmIC8=\x07`, // OSC 52: writes the clipboard
	"\u009b31m":                 `\x9b31m`,                    // CSI as one C1 character
	"\x9b31m":                   `\x9b31m`,                    // the same as a stray byte
	"all well\rrm -rf":          `all well\rrm -rf`,           // hides what was before it
	"a\nb\tc":                   `a\nb\tc`,
	"gpj.\u202eexe":             `gpj.\u202eexe`, // turns the direction
	"\u2066x\u2069":             `\u2066x\u2069`,
	"zero\u200bwidth\ufeff":     `zero\u200bwidth\ufeff`,
	"\u2028\u2029":              `\u2028\u2029`,
	"tag\U000e0041":             `tag\U000e0041`,
	"\x00\x7f\b":                `\x00\x7f\x08`,
	"\xff\xfe":                  `\xff\xfe`,
	"a real \ufffd replacement": "a real \ufffd replacement",
	"Grüße 漢字 ✓":                "Grüße 漢字 ✓",
	`C:\path`:                   `C:\path`,
	"":                          "",
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range hostile {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// JSON keeps its value and loses its harm.
func TestCleanJSON(t *testing.T) {
	t.Parallel()
	for in := range hostile {
		raw, err := json.Marshal(map[string]string{"a": in})
		if err != nil {
			t.Fatal(err)
		}
		got := CleanJSON(raw)
		harmless(t, string(got))
		var a, b map[string]string
		if json.Unmarshal(raw, &a) != nil || json.Unmarshal(got, &b) != nil || a["a"] != b["a"] {
			t.Errorf("%q: %s", in, got)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	got := Lines("goroutine 1\r\n\tmain.go:7 \x1b[0m\n\n")
	want := []string{"goroutine 1", `    main.go:7 \x1b[0m`}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
}

func harmless(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%q is not UTF-8", s)
	}
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
			t.Errorf("%q holds %U", s, r)
		}
	}
}

func FuzzClean(f *testing.F) {
	for in := range hostile {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		harmless(t, out)
		if Clean(out) != out {
			t.Errorf("%q is not stable", out)
		}
		if w := Width(Fit(out, 10)); w > 10 {
			t.Errorf("%q fits in %d", out, w)
		}
	})
}
