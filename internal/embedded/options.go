package embedded

import (
	"net/url"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Option changes how [Start] listens.
type Option func(*settings)

type settings struct {
	port     int
	password string
}

// Port makes the server listen on port n of 127.0.0.1. 0, the default, takes a
// free one.
func Port(n int) Option { return func(s *settings) { s.port = n } }

// Password makes every connection authenticate as the default user. Empty, the
// default, asks for nothing.
func Password(p string) Option { return func(s *settings) { s.password = p } }

// inProcessAddr stands in the options of a server without a listener. It is
// never dialled, but it has to be numeric: for a host name the client asks the
// resolver, whose goroutines are outside a synctest bubble.
const inProcessAddr = "127.0.0.1:1"

// Addr returns host:port of a listening server, and a placeholder for an
// in-process one.
func (s *Server) Addr() string {
	if s.listener == nil {
		return inProcessAddr
	}
	return s.listener.Addr().String()
}

// URL returns the redis:// address of a listening server, password included,
// and "" for an in-process one, which no URL can reach.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	u := url.URL{Scheme: "redis", Host: s.Addr(), Path: "/0"}
	if s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}

// Options returns fresh client options for this server; the caller may change
// them. They switch off what the server does not speak (RESP3, CLIENT SETINFO)
// and the client's silent re-sending, so that a test sees each failure.
func (s *Server) Options() *redis.Options {
	o := &redis.Options{
		Addr:            s.Addr(),
		Password:        s.password,
		Protocol:        2,
		DisableIdentity: true,
		MaxRetries:      -1,
	}
	if s.listener == nil {
		o.Dialer = s.Dial
	}
	return o
}

// Client returns a new client with [Server.Options]. The caller closes it,
// before the server.
func (s *Server) Client() *redis.Client { return redis.NewClient(s.Options()) }

// Miniredis returns the engine underneath, for tests that look at keys
// directly, inject errors or hook commands. Leave its clock, its start and its
// stop to this package.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.mini }
