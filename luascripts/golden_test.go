package luascripts_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/luascripts"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// TestGolden holds every script, as it is sent, and its SHA against testdata: a
// change of a shared function shows in each script that includes it.
func TestGolden(t *testing.T) {
	t.Parallel()
	var sums strings.Builder
	expected := map[string]bool{}
	for _, s := range luascripts.All() {
		sums.WriteString(s.SHA + "  " + s.Name + ".lua\n")
		expected[s.Name+".lua"] = true
		golden(t, filepath.Join("testdata", "golden", s.Name+".lua"), s.Source)
	}
	golden(t, filepath.Join("testdata", "golden", "SHA1SUMS"), sums.String())
	expected["SHA1SUMS"] = true
	entries, err := os.ReadDir(filepath.Join("testdata", "golden"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !expected[e.Name()] {
			t.Errorf("testdata/golden/%s belongs to no script", e.Name())
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not current, run the test with -update: -golden +now\n%s", path, diff)
	}
}
