package testserver

import (
	"syscall"
	"testing"
)

// RealServer is a server process that one test has to itself. Its methods
// report trouble as errors of the test and may be called from any goroutine,
// one at a time.
type RealServer struct {
	Server

	t testing.TB
	p *process
}

// Real starts a redis-server for this test, on 127.0.0.1, without persistence,
// and ends it with the test. args are configuration as on its command line,
// for instance "--appendonly", "yes", "--maxmemory", "8mb". It is not affected
// by CYCLONE_TEST_REDIS.
func Real(t testing.TB, args ...string) *RealServer {
	t.Helper()
	return startReal(t, Redis, args)
}

// EachReal runs f as one subtest on a redis-server and one on a valkey-server,
// both started with args as [Real] does.
func EachReal(t *testing.T, f func(t *testing.T, s *RealServer), args ...string) {
	t.Helper()
	for _, name := range []string{Redis, Valkey} {
		t.Run(name, func(t *testing.T) { f(t, startReal(t, name, args)) })
	}
}

func startReal(t testing.TB, name string, args []string) *RealServer {
	t.Helper()
	return startConfigured(t, name, "", args)
}

func startConfigured(t testing.TB, name, config string, args []string) *RealServer {
	t.Helper()
	p, err := newConfigured(find(t, name), config, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.discard)
	s := &RealServer{t: t, p: p, Server: Server{Name: name, URL: p.url(), Prefix: newPrefix()}}
	s.Client = s.NewClient(t)
	return s
}

// Another starts one more server of the same kind for the same test: a replica,
// for instance.
func (s *RealServer) Another(args ...string) *RealServer {
	s.t.Helper()
	return startReal(s.t, s.Name, args)
}

// Addr returns the server's host:port.
func (s *RealServer) Addr() string { return s.p.addr() }

// Dir returns the server's directory, where its append-only file is; it is
// removed with the server.
func (s *RealServer) Dir() string { return s.p.dir }

// Kill ends the server with SIGKILL and returns when it is gone.
func (s *RealServer) Kill() { s.p.kill() }

// Restart starts the server again, on the same port and directory, and returns
// when it has loaded its data and serves. A server that still runs is killed
// first.
func (s *RealServer) Restart() {
	s.t.Helper()
	s.p.kill()
	if err := s.p.start(); err != nil {
		s.t.Errorf("restart: %v", err)
	}
}

// Stop freezes the server with SIGSTOP: connections stay open and nothing
// answers.
func (s *RealServer) Stop() { s.send(syscall.SIGSTOP) }

// Cont lets a stopped server go on.
func (s *RealServer) Cont() { s.send(syscall.SIGCONT) }

func (s *RealServer) send(sig syscall.Signal) {
	s.t.Helper()
	if err := s.p.signal(sig); err != nil {
		s.t.Errorf("%v: %v", sig, err)
	}
}
