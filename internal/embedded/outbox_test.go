package embedded

import (
	"errors"
	"net"
	"testing"
)

// A client that never reads is cut off instead of filling the memory.
func TestOutboxLimit(t *testing.T) {
	t.Parallel()
	client, far := net.Pipe()
	defer func() { _ = client.Close() }()
	o := newOutbox(far)
	chunk := make([]byte, 1<<20)
	for range outboxLimit / len(chunk) {
		if _, err := o.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Write(chunk); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("a write over the limit: %v, want net.ErrClosed", err)
	}
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Fatal("the client's end is still open")
	}
}
