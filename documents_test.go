package cyclone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// documentBlocks is how many code blocks the documents have.
var documentBlocks = map[string]int{"retries.txt": 12, "task_retries.txt": 5}

// TestDocumentsCompile holds that each code block of the two documents about
// retries stands in a compiled example as a reader would paste it: only white
// space may differ, and the import name of the second document.
func TestDocumentsCompile(t *testing.T) {
	t.Parallel()
	examples := fold(readAll(t, "example_*_test.go"))
	documents, err := filepath.Glob("testdata/documents/*.txt")
	if err != nil || len(documents) != 2 {
		t.Fatalf("documents %v, error %v", documents, err)
	}
	for _, document := range documents {
		blocks := strings.Split("\n"+readAll(t, document), "\n-- ")[1:]
		if want := documentBlocks[filepath.Base(document)]; len(blocks) != want {
			t.Errorf("%s has %d blocks, want %d", document, len(blocks), want)
		}
		for _, block := range blocks {
			name, code, _ := strings.Cut(block, " --\n")
			code = strings.ReplaceAll(fold(code), "runcoil.", "cyclone.")
			if code == "" || !strings.Contains(examples, code) {
				t.Errorf("%s: no example contains the block %q:\n%s", document, name, code)
			}
		}
	}
}

// fold makes every run of white space one blank.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// readAll returns the contents of the files that match pattern.
func readAll(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: files %v, error %v", pattern, files, err)
	}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
		all.WriteByte('\n')
	}
	return all.String()
}
