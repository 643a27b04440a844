package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

//go:embed overlay.go.txt
var overlaySource []byte

const scriptsPackage = "./luascripts"

// Tests that look at the sources would catch every change; the other servers than
// Redis come later, since it is the fastest.
const (
	skipSources = "^Test(Golden|Header|Static)"
	skipOthers  = "/^(miniredis|valkey)$|//^(miniredis|valkey)$|///^(miniredis|valkey)$"
)

// lab runs the tests of packages on changed sources.
type lab struct {
	root    string // of the module
	work    string // temporary
	timeout time.Duration
	files   map[string]string // sources by their path below luascripts
}

// stage is one run of one package's tests.
type stage struct {
	name   string
	binary string
	dir    string
	run    string // -test.run
	skip   string // -test.skip
}

func newLab(timeout time.Duration) (*lab, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	l := &lab{root: strings.TrimSpace(string(out)), timeout: timeout, files: map[string]string{}}
	for _, pattern := range []string{"*.lua", "lib/*.lua"} {
		found, err := filepath.Glob(filepath.Join(l.root, scriptsPackage, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			l.files[path.Join(path.Dir(pattern), filepath.Base(file))] = string(text)
		}
	}
	l.work, err = os.MkdirTemp("", "mutate")
	return l, err
}

func (l *lab) close() { _ = os.RemoveAll(l.work) }

// build compiles a package's tests with the overlay.
func (l *lab) build(pkg string) (string, error) {
	added := filepath.Join(l.work, "overlay.go")
	if err := os.WriteFile(added, overlaySource, 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{filepath.Join(l.root, scriptsPackage, "mutant_overlay.go"): added}
	config, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(l.work, "overlay.json")
	if err := os.WriteFile(overlay, config, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(l.work, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "_")+".test")
	cmd := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, pkg)
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// write puts all sources into a new directory, one of them changed.
func (l *lab) write(m *mutant) (string, error) {
	dir, err := os.MkdirTemp(l.work, "scripts")
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o700); err != nil {
		return "", err
	}
	for file, text := range l.files {
		if m != nil && file == m.file {
			text = m.apply()
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// fails runs a stage on the scripts in dir and tells whether a test failed. Tests
// that never end count as failed.
func (l *lab) fails(ctx context.Context, s stage, dir string) (bool, []byte, error) {
	cmd := exec.CommandContext(ctx, s.binary, "-test.failfast", "-test.skip", s.skip, "-test.run", s.run,
		"-test.timeout", l.timeout.String())
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "CYCLONE_MUTANT="+dir)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, out, ctx.Err()
	case err == nil:
		return false, out, nil
	case errors.As(err, &exit):
		return true, out, nil
	}
	return false, out, err
}
