package embedded_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/embedded"
)

// bubble runs f in a synctest bubble over an in-process server.
func bubble(t *testing.T, f func(t *testing.T, s *embedded.Server, c *redis.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := embedded.InProcess()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := s.Client()
		defer func() { _ = c.Close() }()
		f(t, s, c)
	})
}

func TestTTLFollowsVirtualTime(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, _ *embedded.Server, c *redis.Client) {
		began := time.Now()
		if err := c.Set(t.Context(), "k", "v", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if got := c.TTL(t.Context(), "k").Val(); got != time.Minute {
			t.Fatalf("TTL %v after 59 minutes, want 1m", got)
		}
		time.Sleep(time.Minute)
		if n := c.Exists(t.Context(), "k").Val(); n != 0 {
			t.Fatal("the key outlived its TTL")
		}
		if got := c.Time(t.Context()).Val(); !got.Equal(began.Add(time.Hour)) {
			t.Fatalf("TIME %v, want %v", got, began.Add(time.Hour))
		}
	})
}

func TestTimeStandsStillInAScript(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := client(t, s.Options())
	const busy = `local a = redis.call('TIME') for i = 1, 20000 do redis.call('EXISTS', 'k') end
		local b = redis.call('TIME') return a[1]..a[2] == b[1]..b[2] and 1 or 0`
	if same, err := c.Eval(t.Context(), busy, nil).Int(); err != nil || same != 1 {
		t.Fatalf("same time at both ends: %d (%v)", same, err)
	}
}

func TestSetClock(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *embedded.Server, c *redis.Client) {
		if err := c.Set(t.Context(), "k", "v", 2*time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		s.SetClock(func() time.Time { return time.Now().Add(-time.Hour) })
		if got := c.Time(t.Context()).Val(); !got.Equal(time.Now().Add(-time.Hour)) {
			t.Fatalf("TIME %v, want an hour ago", got)
		}
		s.SetClock(func() time.Time { return time.Now().Add(90 * time.Minute) })
		if n := c.Exists(t.Context(), "k").Val(); n != 0 {
			t.Fatal("a jump of 2h30m left a key with a TTL of 2h")
		}
	})
}

// A subscriber that does not read must not hold up the others.
func TestUnreadMessagesBlockNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, _ *embedded.Server, c *redis.Client) {
		sub := c.Subscribe(t.Context(), "ch")
		defer func() { _ = sub.Close() }()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			if err := c.Publish(t.Context(), "ch", i).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 500 {
			m, err := sub.ReceiveMessage(t.Context())
			if err != nil || m.Payload != fmt.Sprint(i) {
				t.Fatalf("message %d: %v (%v)", i, m, err)
			}
		}
	})
}

// A pipeline longer than every buffer is written before its replies are read.
func TestLongPipeline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, _ *embedded.Server, c *redis.Client) {
		value := string(make([]byte, 1000))
		p := c.Pipeline()
		for i := range 2000 {
			p.Set(t.Context(), fmt.Sprint(i), value, 0)
		}
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := c.DBSize(t.Context()).Val(); n != 2000 {
			t.Fatalf("%d keys, want 2000", n)
		}
	})
}
