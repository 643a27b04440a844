// Package server starts the servers of the contenders: on loopback, in temporary
// folders, for this run only.
package server

import (
	"context"
	"errors"
	"log/slog"
)

// Server is a server that this program has started for one contender.
type Server interface {
	// Address is what a client connects to.
	Address() string
	// PID is the process whose processor time, its children's included, is the
	// server's.
	PID() int
	// Version names the server and its version.
	Version() string
	// Clear removes all that is stored.
	Clear(ctx context.Context) error
	// Memory is what the stored data takes, in bytes, measured in the server's own way.
	Memory(ctx context.Context) (float64, error)
	// Commands is how many commands the server has carried out; ErrUnknown where it
	// does not count them.
	Commands(ctx context.Context) (int, error)
	// Stop ends the server and removes what it kept.
	Stop() error
}

// Options say how a server is to run.
type Options struct {
	// Persist syncs to disk every second, or in the way that comes closest. Without
	// it nothing is persisted.
	Persist bool
}

// Start starts a server.
type Start func(ctx context.Context, o Options) (Server, error)

// ErrUnknown is returned for what a server does not tell.
var ErrUnknown = errors.New("the server does not tell")

// quiet drops what is logged.
var quiet = slog.New(slog.DiscardHandler)
