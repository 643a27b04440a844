package lab

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Log keeps what was logged, and shows it when the test fails.
type Log struct {
	slog.Handler
	text *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func newLog(t testing.TB) *Log {
	b := &buffer{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", b.String())
		}
	})
	return &Log{Handler: slog.NewTextHandler(b, nil), text: b}
}

// WithAttrs keeps the derived handler's text in the same place.
func (l *Log) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Log{Handler: l.Handler.WithAttrs(attrs), text: l.text}
}

// Enabled is true at every level.
func (l *Log) Enabled(context.Context, slog.Level) bool { return true }

// Count returns how many lines contain all the parts.
func (l *Log) Count(parts ...string) int {
	n := 0
lines:
	for line := range strings.Lines(l.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		n++
	}
	return n
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
