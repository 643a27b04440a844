package testserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// process is a server program that runs, ran, or will run again: its port, its
// directory and its arguments stay the same over restarts.
type process struct {
	path string
	dir  string
	port int
	args []string
	// config is what the configuration file has, for a server that keeps one and
	// writes to it; without it there is no file.
	config string

	mu   sync.Mutex
	os   *os.Process
	done chan struct{} // closed when the program has ended
}

// startTries is how many ports are tried: another program may take the free
// port between the moment it is found and the moment the server binds it.
const startTries = 5

func newProcess(path string, args ...string) (*process, error) {
	return newConfigured(path, "", args...)
}

func newConfigured(path, config string, args ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "cyclone-testserver-")
	if err != nil {
		return nil, err
	}
	p := &process{path: path, dir: dir, args: args, config: config}
	if config != "" {
		if err = os.WriteFile(p.configFile(), []byte(config), 0o600); err != nil {
			p.discard()
			return nil, err
		}
	}
	for range startTries {
		if p.port, err = freePort(); err != nil {
			break
		}
		if err = p.start(); !errors.Is(err, errEnded) {
			break
		}
	}
	if err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

// busOffset is from a server's port to that of its bus, which it opens in a cluster.
const busOffset = 10000

// freePort finds one that leaves room for the port of the bus.
func freePort() (port int, err error) {
	for port = 65535; err == nil && port+busOffset > 65535; {
		var l net.Listener
		if l, err = net.Listen("tcp4", "127.0.0.1:0"); err == nil {
			port, err = l.Addr().(*net.TCPAddr).Port, l.Close()
		}
	}
	return port, err
}

func (p *process) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }
func (p *process) url() string  { return "redis://" + p.addr() + "/0" }
func (p *process) log() string  { return filepath.Join(p.dir, "server.log") }

func (p *process) configFile() string { return filepath.Join(p.dir, "server.conf") }

// arguments come without persistence; those of the test stand last and win.
func (p *process) arguments() []string {
	var first []string
	if p.config != "" {
		first = []string{p.configFile()} // has to stand first
	}
	return append(append(first,
		"--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--dir", p.dir, "--logfile", p.log(),
		"--daemonize", "no", "--save", "", "--appendonly", "no",
	), p.args...)
}

// start runs the program and returns when it serves.
func (p *process) start() error {
	started := make(chan error)
	p.mu.Lock()
	p.done = make(chan struct{})
	go p.supervise(started, p.done)
	err := <-started
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if err := p.awaitReady(); err != nil {
		p.kill()
		text, _ := os.ReadFile(p.log())
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// supervise starts the program and waits for its end. It keeps its thread: the
// kernel ends the program when the thread that started it dies, and a thread
// may die long before the test binary does.
func (p *process) supervise(started chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(done)
	cmd := exec.Command(p.path, p.arguments()...)
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.os = cmd.Process
	started <- nil
	_ = cmd.Wait() // how it ended is for the test to judge
}

func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.os.Signal(s)
}

// kill ends the program at once and returns when it is gone. It may have ended
// before.
func (p *process) kill() {
	_ = p.signal(syscall.SIGKILL)
	<-p.done
}

// discard ends the program if it runs and removes its directory.
func (p *process) discard() {
	if p.os != nil {
		p.kill()
	}
	_ = os.RemoveAll(p.dir)
}
