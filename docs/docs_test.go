// Package docs has tests that hold the pages to the code.
package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const top = ".."

// pages returns the Markdown pages for users by name, relative to the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		names, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			all[filepath.ToSlash(strings.TrimPrefix(name, top+string(filepath.Separator)))] = read(t, name)
		}
	}
	return all
}

// sources returns all Go files of the repository, folded.
func sources(t *testing.T, suffix string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, suffix) {
			all.WriteString(read(t, filepath.Join(top, name)) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// fold makes every run of white space one blank.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

var goBlock = regexp.MustCompile("(?ms)^ *```go\n(.*?)^ *```$")

// Every Go block stands in a file that compiles, but for white space.
func TestGoBlocksCompile(t *testing.T) {
	t.Parallel()
	code, blocks := fold(sources(t, ".go")), 0
	for name, page := range pages(t) {
		for _, block := range goBlock.FindAllStringSubmatch(page, -1) {
			if blocks++; !strings.Contains(code, fold(block[1])) {
				t.Errorf("%s: no Go file contains the block:\n%s", name, block[1])
			}
		}
	}
	if blocks < 30 {
		t.Errorf("only %d blocks found", blocks)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	dropped = regexp.MustCompile("[^a-z0-9 _-]+")
)

// anchors returns the names of a page's headings as links use them.
func anchors(page string) map[string]bool {
	all := make(map[string]bool)
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		all[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return all
}

func TestLinksLead(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for name, page := range all {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(top, to)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
				continue
			}
			if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s: the link %s: %s has no such heading", name, m[1], to)
			}
		}
	}
}

var testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")

// Every test that a page names exists.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	tests := sources(t, "_test.go")
	for name, page := range pages(t) {
		for _, m := range testName.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(tests, "func "+m[1]+"(") {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
	}
}

var folder = regexp.MustCompile(`(?:^|[\s(])(\./[a-z][a-z/]*)`)

// Every package that a command names exists.
func TestCommandsNamePackages(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		for line := range strings.Lines(page) {
			if !strings.Contains(line, "go run ") && !strings.Contains(line, "go test ") && !strings.Contains(line, "go build ") {
				continue
			}
			for _, m := range folder.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(top, m[1])); err != nil {
					t.Errorf("%s: %s: no such package", name, strings.TrimSpace(line))
				}
			}
		}
	}
}

// Every page for users is in the index.
func TestIndexIsComplete(t *testing.T) {
	t.Parallel()
	index := read(t, "README.md")
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
