package main

import (
	"regexp"
	"strings"
)

// change is a replacement that a rule proposes.
type change struct {
	start, end int
	text       string
}

// rule finds changes in code whose comments and strings are blanked.
type rule struct {
	name string
	find func(code string) []change
}

var rules = []rule{
	{"condition", conditions},
	{"operand", operands},
	{"bound", comparisons},
	{"option", options},
	{"term", terms},
	{"statement", statements},
}

var condition = regexp.MustCompile(`(?s)\b(if|elseif|while)\s+(.*?)\s+(?:then|do)\b`)

// conditions makes each condition always and never true; a loop only the latter.
func conditions(code string) (out []change) {
	for _, m := range condition.FindAllStringSubmatchIndex(code, -1) {
		out = append(out, change{m[4], m[5], "false"})
		if code[m[2]:m[3]] != "while" {
			out = append(out, change{m[4], m[5], "true"})
		}
	}
	return out
}

var logic = regexp.MustCompile(`\s(and|or)\s`)

// operands leaves out each operand of and and or: what is joined by and becomes
// true, what is joined by or becomes false.
func operands(code string) (out []change) {
	seen := map[change]bool{}
	for _, m := range logic.FindAllStringIndex(code, -1) {
		start, end := around(code, m[0])
		for _, c := range operandsOf(code, start, end) {
			if !seen[c] {
				out = append(out, c)
			}
			seen[c] = true
		}
	}
	return out
}

// around returns where the expression at a position begins and ends: at the
// bracket, the comma, the assignment or the keyword that encloses it.
func around(code string, at int) (start, end int) {
	depth := 0
	for start = at; start > 0; start-- {
		c := code[start-1]
		if c == ')' || c == '}' || c == ']' {
			depth++
		}
		if c == '(' || c == '{' || c == '[' {
			depth--
		}
		if depth < 0 || depth == 0 && (c == ',' || c == '\n' && !continues(code[start:]) || isAssignment(code, start-1) || endsWithKeyword(code[:start])) {
			break
		}
	}
	depth = 0
	for end = at; end < len(code); end++ {
		c := code[end]
		if c == '(' || c == '{' || c == '[' {
			depth++
		}
		if c == ')' || c == '}' || c == ']' {
			depth--
		}
		if depth < 0 || depth == 0 && (c == ',' || c == '\n' && !continues(code[end:]) || keyword.MatchString(code[end:])) {
			break
		}
	}
	for start < end && (code[start] == ' ' || code[start] == '\n') {
		start++
	}
	for end > start && (code[end-1] == ' ' || code[end-1] == '\n') {
		end--
	}
	return start, end
}

var (
	keyword    = regexp.MustCompile(`^\s(then|do)\b`)
	leading    = regexp.MustCompile(`\b(if|elseif|while|return)\s$`)
	continuing = regexp.MustCompile(`^\s+(and|or)\s`)
)

func continues(rest string) bool { return continuing.MatchString(rest) }

func endsWithKeyword(code string) bool {
	return leading.MatchString(code[max(0, len(code)-8):])
}

func isAssignment(code string, at int) bool {
	return code[at] == '=' && at > 0 && code[at-1] == ' ' && at+1 < len(code) && code[at+1] == ' '
}

// operandsOf splits an expression at its own or, then and, and replaces each part.
func operandsOf(code string, start, end int) (out []change) {
	alternatives := split(code, start, end, "or")
	for _, a := range alternatives {
		if len(alternatives) > 1 {
			out = append(out, change{a[0], a[1], "false"})
		}
		parts := split(code, a[0], a[1], "and")
		for _, p := range parts {
			if len(parts) > 1 {
				out = append(out, change{p[0], p[1], "true"})
			}
		}
	}
	return out
}

// split returns the ranges between the operators of the outermost level.
func split(code string, start, end int, operator string) (out [][2]int) {
	depth, from := 0, start
	for i := start; i < end; i++ {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if m := continuing.FindStringSubmatch(code[i:end]); m != nil && depth == 0 && m[1] == operator && !word(code[i]) {
			out = append(out, [2]int{from, i})
			from = i + len(m[0])
			i = from - 1
		}
	}
	return append(out, [2]int{from, end})
}

// level is the depth of brackets at the end of a piece of code.
func level(code string) int {
	return strings.Count(code, "(") + strings.Count(code, "{") - strings.Count(code, ")") - strings.Count(code, "}")
}

var comparison = regexp.MustCompile(` (<=|>=|<|>) `)

// comparisons moves each bound by one.
func comparisons(code string) (out []change) {
	other := map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
	for _, m := range comparison.FindAllStringSubmatchIndex(code, -1) {
		out = append(out, change{m[2], m[3], other[code[m[2]:m[3]]]})
	}
	return out
}

var option = regexp.MustCompile(`, '(?:NX|XX)'|, 'LIMIT', 0, \w+`)

// options drops what makes a command conditional or bounded.
func options(code string) (out []change) {
	for _, m := range option.FindAllStringIndex(code, -1) {
		out = append(out, change{m[0], m[1], ""})
	}
	return out
}

var extreme = regexp.MustCompile(`math\.(?:min|max)\(`)

// terms leaves out each term of math.min and math.max.
func terms(code string) (out []change) {
	for _, m := range extreme.FindAllStringIndex(code, -1) {
		list, end := arguments(code, m[1])
		for skip := range list {
			var rest []string
			for i, a := range list {
				if i != skip {
					rest = append(rest, strings.TrimSpace(code[a[0]:a[1]]))
				}
			}
			out = append(out, change{m[1], end, strings.Join(rest, ", ")})
		}
	}
	return out
}

// arguments returns the ranges of a call's arguments and where they end, given
// where they begin.
func arguments(code string, start int) (list [][2]int, end int) {
	depth, from := 0, start
	for end = start; ; end++ {
		switch c := code[end]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case c == ')':
			return append(list, [2]int{from, end}), end
		case c == ',' && depth == 0:
			list = append(list, [2]int{from, end})
			from = end + 1
		}
	}
}

var (
	call       = regexp.MustCompile(`(?m)^ *(?:redis\.call|[a-z_]+|apply\.g)\(`)
	assignment = regexp.MustCompile(`(?m)^ *([a-z_][\w.]*(?:\[[^\n=]*\])?(?:, [a-z_]+)*) = [^\n]*$`)
)

// statements removes each call that stands by itself and each assignment that is
// no declaration.
func statements(code string) (out []change) {
	for _, m := range call.FindAllStringIndex(code, -1) {
		_, end := arguments(code, m[1])
		start := m[0] + strings.IndexFunc(code[m[0]:], func(r rune) bool { return r != ' ' })
		if end++; end == len(code) || code[end] == '\n' {
			out = append(out, change{start, end, ""})
		}
	}
	for _, m := range assignment.FindAllStringSubmatchIndex(code, -1) {
		end := m[1]
		for continues(code[end:]) {
			end += 1 + strings.IndexByte(code[end+1:], '\n')
		}
		if level(code[m[2]:end]) == 0 {
			out = append(out, change{m[2], m[2] + len(strings.TrimRight(code[m[2]:end], " ")), ""})
		}
	}
	return out
}
