package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// simulation is the package whose tests are played.
const simulation = "github.com/cyclone-queue/cyclone/internal/sim"

// machine plays the tests of the simulation. Safe for concurrent use.
type machine struct {
	runtime wazero.Runtime
	program wazero.CompiledModule
}

// build builds the tests, and a machine for them.
func build() (*machine, error) {
	code, err := compile()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	m := &machine{runtime: wazero.NewRuntime(ctx)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return nil, errors.Join(err, m.close())
	}
	if m.program, err = m.runtime.CompileModule(ctx, code); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func compile() ([]byte, error) {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "sim.wasm")
	cmd := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-o", file, simulation)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w\n%s", simulation, err, out)
	}
	return os.ReadFile(file)
}

func (m *machine) close() error { return m.runtime.Close(context.Background()) }

// played is what the tests have come to.
type played struct {
	output string
	code   uint32
}

// play runs the tests with the given arguments. Their clocks go on by a fixed amount
// each time they are read, and their random numbers are always the same, so that the
// arguments alone decide what they do.
func (m *machine) play(args []string) (played, error) {
	var out bytes.Buffer
	config := wazero.NewModuleConfig().WithName("").WithArgs(append([]string{"sim.test"}, args...)...).
		WithStdout(&out).WithStderr(&out).WithRandSource(rand.NewChaCha8([32]byte{}))
	ctx := context.Background()
	program, err := m.runtime.InstantiateModule(ctx, m.program, config)
	if program != nil {
		defer func() { _ = program.Close(ctx) }()
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return played{out.String(), exit.ExitCode()}, nil
	}
	if err != nil {
		return played{}, fmt.Errorf("%w\n%s", err, out.String())
	}
	return played{output: out.String()}, nil
}

// did is what a test says at the end of a seed.
var did = regexp.MustCompile(`\d+ commands, .*`)

func summary(output string) string { return did.FindString(output) }
