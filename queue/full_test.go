package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// TestOperatorsCanMakeRoom at maxmemory, where enqueues are refused. Embedded servers
// know no such limit.
func TestOperatorsCanMakeRoom(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := newLab(t, s.Server, Config{})
		first, second, third := l.enqueue("a"), l.enqueue("b"), l.enqueue("c")
		l.discard(first)
		deaf := l.open(Config{})
		// The nearer to the limit, the smaller what still fits.
		for _, size := range []int{32 << 10, 1 << 10, 10} {
			l.fill("big", strings.Repeat("x", size))
		}
		l.fill("new", "x") // a queue that the list does not have yet
		if _, err := deaf.Subscribe(l.ctx, EventFilter{}); !errors.Is(err, ErrFull) {
			t.Errorf("subscribe: %v", err)
		}
		l.ok(l.client.Retry(l.ctx, first, "mail"))
		l.ok(l.client.Cancel(l.ctx, third))
		l.ok(l.client.Pause(l.ctx, "big"))
		l.complete(l.claim()[second], "x", time.Hour)
		var out string
		if err := deaf.Await(l.ctx, second, &out); err != nil || out != "x" { // without events
			t.Errorf("await: %q, %v", out, err)
		}
		_, err := l.client.DeleteMatching(l.ctx, Filter{}, nil)
		l.ok(err)
		l.wantAudit()
	}, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
}

// fill enqueues until Redis refuses.
func (l *lab) fill(queue, text string) {
	l.Helper()
	for range 100_000 {
		if _, err := l.client.Enqueue(l.ctx, mail.With(text, cyclone.WithQueue(queue))); err != nil {
			if !errors.Is(err, ErrFull) {
				l.Fatal(err)
			}
			return
		}
	}
	l.Fatal("it is never full")
}
