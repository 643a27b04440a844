package embedded

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Server is one embedded server. Its methods may be called from several
// goroutines. Close it when done; nothing of it survives that.
type Server struct {
	mini     *miniredis.Miniredis
	conns    *server.Server
	listener net.Listener // nil for an in-process server
	password string
	clock    clock
	running  sync.WaitGroup // the accept loop and the writers of the pipes

	mu     sync.Mutex
	closed bool
}

// Start returns a server that listens on 127.0.0.1. Without options it takes a
// free port and asks for no password. It returns an error when the port cannot
// be listened on.
func Start(opts ...Option) (*Server, error) {
	set := settings{}
	for _, o := range opts {
		o(&set)
	}
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", set.port))
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s, err := newServer(set.password)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	s.listener = listener
	s.running.Go(s.accept)
	return s, nil
}

// InProcess returns a server without a listener. Its connections come from
// [Server.Dial], which [Server.Options] and [Server.Client] use. Made inside a
// synctest bubble it runs on the bubble's virtual time and must be closed
// there.
func InProcess() (*Server, error) { return newServer("") }

func newServer(password string) (*Server, error) {
	mini := miniredis.NewMiniRedis()
	// The first Dial is what starts a server that has no listener.
	first, err := mini.Dial()
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	_ = first.Close()
	mini.RequireAuth(password)
	s := &Server{mini: mini, conns: mini.Server(), password: password}
	s.clock.attach(mini)
	return s, nil
}

// Dial returns a new in-memory connection to the server. It ignores the
// network and the address, so that it fits go-redis' Dialer. On a closed
// server it returns [net.ErrClosed].
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) {
	client, far := net.Pipe()
	box := newOutbox(far)
	if !s.serve(box, box.pump) {
		_ = client.Close()
		return nil, net.ErrClosed
	}
	return client, nil
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.serve(conn, nil)
	}
}

// serve hands one connection to the server, with the goroutine that it needs if
// any, or closes it and reports false when there is no server any more.
func (s *Server) serve(conn net.Conn, pump func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	if pump != nil {
		s.running.Go(pump)
	}
	s.conns.ServeConn(&clockedConn{Conn: conn, clock: &s.clock})
	return true
}

// Close ends every connection, stops listening and waits for the server's
// goroutines. It is safe to call more than once.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.mu.Unlock()

	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mini.Close()
	s.running.Wait()
}
