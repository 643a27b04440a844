package demo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// process is the worker process that can be killed.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer // the process ends softly when this is closed, or its parent is gone
	id    string
	ended chan struct{}
}

// spawn starts the process and waits for the name of its worker, which it prints
// first of all.
func spawn(cmd *exec.Cmd) (*process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("demo: worker process: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("demo: worker process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("demo: worker process: %w", err)
	}
	p := &process{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // a killed one always fails
	}()
	if p.id = strings.TrimSpace(line); err != nil || p.id == "" {
		p.kill()
		return nil, errors.Join(errors.New("demo: worker process did not start"), err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.ended
	_ = p.stdin.Close()
}

// stop ends the process softly, or after a while by force.
func (p *process) stop(patience time.Duration) {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.kill()
	}
}
