package arrows

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const top = "../.."

func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	if len(files) < 20 {
		t.Fatalf("%d Go files found from %s: not the module", len(files), top)
	}
	for _, file := range files {
		l := layerOf(path.Dir(file))
		if l == nil {
			t.Errorf("%s: its package has no layer; give it one in internal/arrows/table_test.go", file)
			continue
		}
		for _, imported := range imports(t, file) {
			if reason := l.forbids(imported, strings.HasSuffix(file, "_test.go")); reason != "" {
				t.Errorf("%s imports %s: %s", file, imported, reason)
			}
		}
	}
}

func TestNoVagueNames(t *testing.T) {
	t.Parallel()
	for _, file := range goFiles(t) {
		if name := path.Base(path.Dir(file)); slices.Contains(vague, name) {
			t.Errorf("%s: a package named %s says nothing about its duty", file, name)
		}
	}
}

// A program that uses the library links neither the embedded server nor the
// command line, nor anything for tests.
func TestLibraryLinksLittle(t *testing.T) {
	t.Parallel()
	args := []string{"list", "-deps"}
	for _, p := range library {
		if sources, _ := filepath.Glob(filepath.Join(top, p, "*.go")); len(sources) > 0 {
			args = append(args, "./"+p)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = top
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module) {
		t.Fatalf("go list names %d packages, and not the module's own", len(deps))
	}
	for _, dep := range deps {
		if bad := within(dep, unwanted); bad != "" {
			t.Errorf("the library links %s", dep)
		}
	}
}

// forbids returns why a file of the layer may not import a package, or "".
func (l *layer) forbids(imported string, test bool) string {
	if own, ok := strings.CutPrefix(imported, module); ok {
		own = strings.TrimPrefix(own, "/")
		if own == "" {
			own = root
		}
		if test || slices.Contains(l.own, own) || layerOf(own) == l {
			return ""
		}
		return "the arrow from " + l.path + " does not go there"
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	if within(imported, l.modules) != "" || test && within(imported, testModules) != "" {
		return ""
	}
	return "not a module that " + l.path + " may use"
}

// layerOf returns the layer of a package, nil if it has none. The root's layer
// is the root alone.
func layerOf(pkg string) *layer {
	var best *layer
	for i := range layers {
		l := &layers[i]
		if pkg == l.path || l.path != root && strings.HasPrefix(pkg, l.path+"/") {
			if best == nil || len(l.path) > len(best.path) {
				best = l
			}
		}
	}
	return best
}

// within returns which of the paths a package is, or is under, or "".
func within(pkg string, paths []string) string {
	for _, p := range paths {
		if pkg == p || strings.HasPrefix(pkg, p+"/") {
			return p
		}
	}
	return ""
}

// goFiles returns the module's Go files, relative to its top. A folder with a
// go.mod of its own is another module.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." {
			_, nested := os.Stat(filepath.Join(top, name, "go.mod"))
			if nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}
