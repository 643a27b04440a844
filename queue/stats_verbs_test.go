package queue

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/cyclone-queue/cyclone"
)

var (
	countedVerb = regexp.MustCompile(`count\(stats, now, '([a-z]+)'`)
	verbTable   = regexp.MustCompile(`(?s)(?:local VERB|counted) = \{(.*?)\}`)
	verbWord    = regexp.MustCompile(`'([a-z]+)'|([a-z]+) = 0`)
)

// What scripts count is known here: it is shown, and tidied when its time is over.
func TestEveryVerbIsCounted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../luascripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	check := func(file, verb string) {
		if found++; !slices.Contains(counted, cyclone.EventType(verb)) {
			t.Errorf("%s counts %q, which is never tidied", file, verb)
		}
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range countedVerb.FindAllSubmatch(source, -1) {
			check(file, string(m[1]))
		}
		for _, table := range verbTable.FindAllSubmatch(source, -1) {
			for _, m := range verbWord.FindAllSubmatch(table[1], -1) {
				check(file, string(m[1])+string(m[2]))
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d verbs were found", found)
	}
}
