package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mutant is one change of one file: the bytes from start to end become text.
type mutant struct {
	file       string
	start, end int
	text       string
	rule       string // what was changed
	source     string // the whole file as it is
}

// line returns the number and the text of the line on which the change begins.
func (m *mutant) line() (int, string) {
	number := 1 + strings.Count(m.source[:m.start], "\n")
	from := strings.LastIndexByte(m.source[:m.start], '\n') + 1
	to := strings.IndexByte(m.source[m.start:], '\n')
	if to < 0 {
		to = len(m.source) - m.start
	}
	return number, strings.TrimSpace(m.source[from : m.start+to])
}

// apply returns the changed file.
func (m *mutant) apply() string { return m.source[:m.start] + m.text + m.source[m.end:] }

// change says what became of what.
func (m *mutant) change() string {
	old := strings.Join(strings.Fields(m.source[m.start:m.end]), " ")
	if m.text == "" {
		return m.rule + ": " + old
	}
	return m.rule + ": " + old + " -> " + m.text
}

func (m *mutant) String() string {
	number, text := m.line()
	return fmt.Sprintf("%s:%d\t%s\n\t\t%s", m.file, number, text, m.change())
}

// mutants returns every change of a file by the rules, in the order of the file.
func mutants(file, source string) []*mutant {
	code := blank(source)
	var out []*mutant
	for _, r := range rules {
		for _, c := range r.find(code) {
			m := &mutant{file: file, start: c.start, end: c.end, text: c.text, rule: r.name, source: source}
			if m.apply() != source {
				out = append(out, m)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *mutant) int { return cmp.Compare(a.start, b.start) })
	return slices.CompactFunc(out, func(a, b *mutant) bool { return a.apply() == b.apply() })
}

// blank returns the source with comments and the insides of strings replaced by
// spaces and dots, so that rules match code only and offsets stay.
func blank(source string) string {
	out := []byte(source)
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '-' && i+1 < len(out) && out[i+1] == '-':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case out[i] == '\'':
			for i++; i < len(out) && out[i] != '\''; i++ {
				if out[i] == '\\' {
					out[i] = '.'
					i++
				}
				if !word(out[i]) { // words stay: rules look for NX, XX and LIMIT
					out[i] = '.'
				}
			}
		}
	}
	return string(out)
}

func word(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
