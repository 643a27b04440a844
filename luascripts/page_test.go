package luascripts_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/luascripts"
)

const protocolPage = "../docs/protocol.md"

var scriptsPart = regexp.MustCompile(`(?s)(<!-- scripts: [^\n]*-->\n)(.*?)(<!-- end -->)`)

// TestHeaderPage holds the list of scripts in docs/protocol.md against their
// headers, and its table of keys against the keys that they use.
func TestHeaderPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(protocolPage)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	used := map[string]bool{}
	b.WriteString("\n| script | what it does | keys | for each |\n| --- | --- | --- | --- |\n")
	for _, s := range luascripts.All() {
		h, _ := readHeader(t, s.Name)
		keys := slices.Clone(h.keys)
		var each []string
		for _, g := range h.per {
			each = append(each, g.of+": "+strings.Join(g.keys, " "))
			keys = append(keys, g.keys...)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, h.purpose, strings.Join(h.keys, " "), strings.Join(each, "; "))
		for _, key := range keys {
			key, _, _ = strings.Cut(key, "_")
			used[key] = true
		}
	}
	b.WriteString("\n")
	page := scriptsPart.ReplaceAllString(string(raw), "${1}"+strings.ReplaceAll(b.String(), "$", "$$")+"${3}")
	if *update {
		if err := os.WriteFile(protocolPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(raw), page); diff != "" {
		t.Errorf("docs/protocol.md is not current, run this test with -update: -page +headers\n%s", diff)
	}
	delete(used, "index") // any of the indexes
	_, table, _ := strings.Cut(page, "\n## Keys\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for key := range used {
		if !strings.Contains(table, "`"+key+"`") && !strings.Contains(table, "`"+key+":") {
			t.Errorf("the key %s is not in the table of docs/protocol.md", key)
		}
	}
}
