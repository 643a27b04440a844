package server

import (
	"context"
	"errors"
	"fmt"
)

// None stands for a server that could not be started again.
type None struct {
	// Err is why.
	Err error
}

var errNone = errors.New("there is no server any more")

func (n None) failure() error { return fmt.Errorf("%w: %w", errNone, n.Err) }

// Address is empty.
func (None) Address() string { return "" }

// PID is no process.
func (None) PID() int { return 0 }

// Version says that there is none.
func (None) Version() string { return "none any more" }

// Clear fails.
func (n None) Clear(context.Context) error { return n.failure() }

// Memory fails.
func (n None) Memory(context.Context) (float64, error) { return 0, n.failure() }

// Commands fails.
func (n None) Commands(context.Context) (int, error) { return 0, n.failure() }

// Stop does nothing.
func (None) Stop() error { return nil }
