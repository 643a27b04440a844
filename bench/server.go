package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	serverStartTries = 5 // another process may take the port first
	serverStartWait  = 5 * time.Second
	serverStopWait   = 5 * time.Second
)

// server is a redis-server that this program started for itself.
type server struct {
	address string
	folder  string
	exited  chan error
	command *exec.Cmd
}

// startServer runs redis-server from PATH on a free loopback port, without
// persistence. The caller stops it.
func startServer(ctx context.Context) (*server, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("no redis-server on PATH: install one, or name a server with --redis URL")
	}
	for range serverStartTries {
		var s *server
		if s, err = launch(ctx, binary); err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func launch(ctx context.Context, binary string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "cyclone-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		folder:  folder,
		exited:  make(chan error, 1),
		command: exec.Command(binary, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
			"--save", "", "--appendonly", "no", "--dir", folder, "--loglevel", "warning"),
	}
	if err := s.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", binary, err), os.RemoveAll(folder))
	}
	go func() { s.exited <- s.command.Wait() }()
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverStartWait)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.address, MaxRetries: -1})
	defer rdb.Close()
	for {
		if rdb.Ping(ctx).Err() == nil {
			return nil
		}
		select {
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("redis-server on %s ended at once: %v", s.address, err)
		case <-ctx.Done():
			return fmt.Errorf("redis-server on %s does not answer: %w", s.address, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends the server, by force if it does not go, and removes its folder.
func (s *server) stop() error {
	_ = s.command.Process.Signal(os.Interrupt) // it may be gone already: exited tells
	select {
	case <-s.exited:
	case <-time.After(serverStopWait):
		_ = s.command.Process.Kill()
		<-s.exited
	}
	return os.RemoveAll(s.folder)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
