// Package redisserver starts redis-server for a measurement and reads its counters.
package redisserver

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
	startTries = 5 // another process may take the port first
	startWait  = 5 * time.Second
	stopWait   = 5 * time.Second
)

// Server is a redis-server that this program started for itself.
type Server struct {
	// Address is its host and port.
	Address string

	folder  string
	exited  chan error
	command *exec.Cmd
}

// Start runs redis-server from PATH on a free loopback port. Without aof it
// persists nothing, with aof it appends to a file that is synced every second.
// The caller stops it.
func Start(ctx context.Context, aof bool) (*Server, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("no redis-server on PATH")
	}
	for range startTries {
		var s *Server
		if s, err = launch(ctx, binary, aof); err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func launch(ctx context.Context, binary string, aof bool) (*Server, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "cyclone-bench-")
	if err != nil {
		return nil, err
	}
	args := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--loglevel", "warning"}
	if aof {
		args = append(args, "--appendonly", "yes", "--appendfsync", "everysec")
	} else {
		args = append(args, "--appendonly", "no")
	}
	s := &Server{
		Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		folder:  folder,
		exited:  make(chan error, 1),
		command: exec.Command(binary, args...),
	}
	if err := s.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", binary, err), os.RemoveAll(folder))
	}
	go func() { s.exited <- s.command.Wait() }()
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.Address, MaxRetries: -1})
	defer rdb.Close()
	for {
		if rdb.Ping(ctx).Err() == nil {
			return nil
		}
		select {
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("redis-server on %s ended at once: %v", s.Address, err)
		case <-ctx.Done():
			return fmt.Errorf("redis-server on %s does not answer: %w", s.Address, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.command.Process.Pid }

// Stop ends the server, by force if it does not go, and removes its folder.
func (s *Server) Stop() error {
	_ = s.command.Process.Signal(os.Interrupt) // it may be gone already: exited tells
	select {
	case <-s.exited:
	case <-time.After(stopWait):
		_ = s.command.Process.Kill()
		<-s.exited
	}
	return os.RemoveAll(s.folder)
}

// FreePort returns a loopback port that nobody listens on now.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
