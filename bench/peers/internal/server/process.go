package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

const (
	startWait = 30 * time.Second
	stopWait  = 5 * time.Second
)

// process is a server's process and the folder in which it keeps its data.
type process struct {
	command *exec.Cmd
	folder  string
	ended   chan struct{}
	said    output
}

// launch starts a command that ends with this process.
func launch(command *exec.Cmd, folder string) (*process, error) {
	p := &process{command: command, folder: folder, ended: make(chan struct{})}
	command.Stdout, command.Stderr = &p.said, &p.said
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGTERM
	started := make(chan error)
	go p.supervise(started)
	return p, <-started
}

// supervise starts the process and waits for its end, on one thread: the kernel ends
// the process when the thread that started it is gone.
func (p *process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer close(p.ended)
	err := p.command.Start()
	started <- err
	if err == nil {
		_ = p.command.Wait() // how it ended is seen by who needed it
	}
}

// await asks until the server answers.
func (p *process) await(ctx context.Context, answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		err := answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended at once: %s", filepath.Base(p.command.Path), p.said.String())
		default:
		}
		if parallel.Pause(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("%s does not answer: %w", filepath.Base(p.command.Path), err)
		}
	}
}

// PID is the server's process.
func (p *process) PID() int { return p.command.Process.Pid }

// end stops the process by a signal, by force if it does not go, and removes its folder.
func (p *process) end(signal os.Signal) error {
	_ = p.command.Process.Signal(signal) // it may be gone already
	select {
	case <-p.ended:
	case <-time.After(stopWait):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	return os.RemoveAll(p.folder)
}

// folder makes a temporary folder.
func folder() (string, error) { return os.MkdirTemp("", "cyclone-peers-") }

// discard removes a folder that is not needed after all, and returns err.
func discard(folder string, err error) error { return errors.Join(err, os.RemoveAll(folder)) }

// output keeps the beginning of what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const outputBytes = 4000

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := outputBytes - o.text.Len(); left > 0 {
		o.text.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
