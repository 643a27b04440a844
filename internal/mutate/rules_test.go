package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/gopher-lua/parse"
)

// TestRules: what each kind of line is changed to.
func TestRules(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		"if a then\n  f(x)\nend": {"condition: a -> false", "condition: a -> true", "statement: f(x)"},
		"while a do\nend":        {"condition: a -> false"},
		"if a and b == 1 then end": {
			"condition: a and b == 1 -> false", "condition: a and b == 1 -> true", "operand: a -> true", "operand: b == 1 -> true",
		},
		"if a and b or c then end": {
			"condition: a and b or c -> false", "condition: a and b or c -> true", "operand: a and b -> false", "operand: a -> true",
			"operand: b -> true", "operand: c -> false",
		},
		"local x = a and f(b or c) or {}": {
			"operand: a and f(b or c) -> false", "operand: a -> true", "operand: f(b or c) -> true", "operand: b -> false",
			"operand: c -> false", "operand: {} -> false",
		},
		"return {a and 1 or 0, b}":           {"operand: a and 1 -> false", "operand: a -> true", "operand: 1 -> true", "operand: 0 -> false"},
		"local x = a > 0\n  and b":           {"bound: > -> >=", "operand: a > 0 -> true", "operand: b -> true"},
		"local x = math.min(a, f(b, 1), c)":  {"term: a, f(b, 1), c -> f(b, 1), c", "term: a, f(b, 1), c -> a, c", "term: a, f(b, 1), c -> a, f(b, 1)"},
		"redis.call('ZADD', k, 'NX', 1, m)":  {"option: , 'NX'", "statement: redis.call('ZADD', k, 'NX', 1, m)"},
		"local x = f(k, 'LIMIT', 0, n)":      {"option: , 'LIMIT', 0, n"},
		"local x = 'if a and b then'":        nil,
		"-- if a and b then f(x)":            nil,
		"local x = 1":                        nil,
		"t[#t + 1] = 'a b'":                  {"statement: t[#t + 1] = 'a b'"},
		"a, b = b, a":                        {"statement: a, b = b, a"},
		"f(a,\n  b)":                         {"statement: f(a, b)"},
		"if not (a and b) then end":          {"condition: not (a and b) -> false", "condition: not (a and b) -> true", "operand: a -> true", "operand: b -> true"},
		"local s = 'it''s' .. (a or 'b, c')": {"operand: a -> false", "operand: 'b, c' -> false"},
	} {
		var got []string
		for _, m := range mutants("x.lua", source) {
			got = append(got, m.change())
			if m.apply() == source {
				t.Errorf("%q: %s changes nothing", source, m.change())
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", source, diff)
		}
	}
}

// TestRulesOnTheScripts: every change is still Lua, there are many, each file has
// some, and every equivalent is one of them.
func TestRulesOnTheScripts(t *testing.T) {
	t.Parallel()
	l, err := newLab(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	all, _, err := l.collect("")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range all {
		count[m.file]++
	}
	for file := range l.files {
		if count[file] == 0 && file != "lib/clock.lua" && file != "lib/queues.lua" { // which decide nothing
			t.Errorf("no change of %s", file)
		}
	}
	if len(all) < 500 {
		t.Errorf("%d changes", len(all))
	}
}

// TestLine names the place of a change.
func TestLine(t *testing.T) {
	t.Parallel()
	m := mutants("x.lua", "local x = 1\n  if x then\nend\n")[0]
	if number, text := m.line(); number != 2 || text != "if x then" {
		t.Errorf("%d %q", number, text)
	}
	if _, err := parse.Parse(strings.NewReader(m.apply()), "x"); err != nil {
		t.Error(err)
	}
}
