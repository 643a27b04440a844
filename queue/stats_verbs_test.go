package queue

import (
	"regexp"
	"slices"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
)

var (
	countedVerb = regexp.MustCompile(`count\(stats, now, '([a-z]+)'`)
	verbTable   = regexp.MustCompile(`(?s)(?:local VERB|counted) = \{(.*?)\}`)
	verbWord    = regexp.MustCompile(`'([a-z]+)'|([a-z]+) = 0`)
)

// What scripts count is known here: it is shown, and tidied when its time is over.
func TestEveryVerbIsCounted(t *testing.T) {
	t.Parallel()
	found := 0
	check := func(script, verb string) {
		if found++; !slices.Contains(counted, cyclone.EventType(verb)) {
			t.Errorf("%s counts %q, which is never tidied", script, verb)
		}
	}
	for _, script := range luascripts.All() {
		for _, m := range countedVerb.FindAllStringSubmatch(script.Source, -1) {
			check(script.Name, m[1])
		}
		for _, table := range verbTable.FindAllStringSubmatch(script.Source, -1) {
			for _, m := range verbWord.FindAllStringSubmatch(table[1], -1) {
				check(script.Name, m[1]+m[2])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d verbs were found", found)
	}
}
