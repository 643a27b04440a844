package faults_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a worker process that runs, or ran.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  *os.File // its end tells the process that this one is gone
	log    *logBuffer
	done   chan struct{}
	killed bool
	err    error
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// spawn starts a worker process that tells the ledger what its handlers do, and
// returns when it can be asked to stop.
func spawn(t testing.TB, cfg childConfig, ledger *ledger) *process {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self), log: &logBuffer{}, done: make(chan struct{})}
	// Without a variable of its own a process gets the parent's.
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	p.cmd.Stderr = p.log
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdin, p.stdin = in, stdin
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	ready := make(chan struct{})
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		for first := true; lines.Scan(); first = false {
			if first {
				close(ready)
				continue
			}
			ledger.add(p.cmd.Process.Pid, lines.Bytes())
		}
		p.err = p.cmd.Wait()
	}()
	select {
	case <-ready:
	case <-p.done:
		t.Fatalf("a worker process ended: %v\n%s", p.err, p.log)
	}
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("process %d:\n%s", p.cmd.Process.Pid, tail(p.log.String()))
		}
	})
	return p
}

// tail bounds what a failed test shows of a process's log.
func tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

func (p *process) send(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%v to process %d: %v", s, p.cmd.Process.Pid, err)
	}
}

// kill ends the process at once.
func (p *process) kill() {
	p.killed = true
	p.send(syscall.SIGKILL)
	<-p.done
}

func (p *process) freeze() { p.send(syscall.SIGSTOP) }
func (p *process) thaw()   { p.send(syscall.SIGCONT) }

// stop asks the process to end softly and returns how long it took.
func (p *process) stop() time.Duration {
	p.t.Helper()
	began := time.Now()
	p.send(syscall.SIGTERM)
	<-p.done
	if p.err != nil {
		p.t.Errorf("process %d: %v\n%s", p.cmd.Process.Pid, p.err, tail(p.log.String()))
	}
	return time.Since(began)
}

// end ends the process if it runs.
func (p *process) end() {
	_ = p.stdin.Close()
	select {
	case <-p.done:
	default:
		p.send(syscall.SIGCONT)
		p.kill()
	}
}

// said returns how many lines of the log contain the text.
func (p *process) said(text string) int { return strings.Count(p.log.String(), text) }
