package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claims are the ids of what the two documents promise.
const claims = `
C01 C02 C03 C04 C05 C06 C07 C08 C09 C10 C11 C12 C13 C14 C15 C16 C17 C18 C19 C20 C21 C22 C23 C24
R01 R02 R03 R04 R05 R06 R07 R08 R09 R10 R11 R12 R13 R14`

// TestEveryClaimHasItsTest holds that there is a conformance test for each claim, and
// none for what is no claim.
func TestEveryClaimHasItsTest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^TestSpec_([^_]+)_`)
	found := make(map[string]int)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "TestSpec") {
				m := name.FindStringSubmatch(fn.Name.Name)
				if m == nil {
					t.Errorf("%s: which claim is %s about?", file, fn.Name.Name)
					continue
				}
				found[m[1]]++
			}
		}
	}
	for _, id := range strings.Fields(claims) {
		if found[id] == 0 {
			t.Errorf("claim %s has no test", id)
		}
		delete(found, id)
	}
	for id := range found {
		t.Errorf("there is no claim %s", id)
	}
}
