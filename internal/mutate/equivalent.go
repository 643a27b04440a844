package main

import (
	"fmt"
	"strings"
)

// equivalent is a change that no test can notice.
type equivalent struct {
	file, line, change string // as mutant shows them
	why                string
}

// equivalents is the list with a note of which entries a change was found for.
type equivalents struct{ used []bool }

func newEquivalents() *equivalents { return &equivalents{make([]bool, len(list))} }

func (e *equivalents) has(m *mutant) bool {
	_, line := m.line()
	found := false
	for i, q := range list {
		if q.file == m.file && q.line == line && q.change == m.change() {
			e.used[i], found = true, true
		}
	}
	return found
}

// unused returns an error that names the entries for which no change was found.
func (e *equivalents) unused() error {
	var stale []string
	for i, used := range e.used {
		if !used {
			stale = append(stale, list[i].file+": "+list[i].line+": "+list[i].change)
		}
	}
	if stale == nil {
		return nil
	}
	return fmt.Errorf("equivalent.go lists what is not in the sources:\n%s", strings.Join(stale, "\n"))
}

var list = []equivalent{}
