package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text from a stranger as one line that a terminal only shows:
// control characters, escape sequences, characters that turn the writing
// direction or cannot be seen, and bytes that are not UTF-8 come out as escapes
// such as \x1b or \u202e. A backslash stays as it is.
func Clean(s string) string {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !shown(r, size) {
			return clean(s, i)
		}
		i += size
	}
	return s
}

// clean escapes from byte i on; what is before is harmless.
func clean(s string, i int) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case shown(r, size):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError && size == 1, r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, byteOf(r, s[i]))
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// byteOf is the number to show: a stray byte's own, else the character's.
func byteOf(r rune, b byte) int {
	if r == utf8.RuneError {
		return int(b)
	}
	return int(r)
}

// shown reports whether a character is a visible one or a space. The classes Cf
// (direction, joiners, tags), Zl and Zp are as bad as the controls.
func shown(r rune, size int) bool {
	if r == utf8.RuneError && size <= 1 {
		return false
	}
	return r == ' ' || unicode.IsPrint(r)
}

// Lines returns text of several lines, such as a stack, each line clean and with
// its tabs as spaces.
func Lines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, line := range lines {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    ")
		lines[i] = Clean(line)
	}
	return lines
}

// CleanJSON makes encoded JSON safe for a terminal without changing its value:
// what [Clean] escapes is escaped in JSON's own way. Line ends and indentation
// stay.
func CleanJSON(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if shown(r, size) || r == '\n' || r == '\t' {
			if out != nil {
				out = append(out, b[i:i+size]...)
			}
			i += size
			continue
		}
		if out == nil {
			out = append(make([]byte, 0, len(b)+16), b[:i]...)
		}
		out = appendEscape(out, r)
		i += size
	}
	if out == nil {
		return b
	}
	return out
}

// appendEscape writes a character as JSON's \u escapes, a pair of them beyond
// the first 65,536.
func appendEscape(out []byte, r rune) []byte {
	if r < 0x10000 {
		return fmt.Appendf(out, `\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}
