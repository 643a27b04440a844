package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
)

// ErrClosed is returned by every call of a [Client] that was closed.
var ErrClosed = errors.New("queue: client is closed")

// Client enqueues, inspects, repairs and listens. Create one per process and
// Redis, with [NewClient] or [Open]; it is safe for concurrent use.
type Client struct {
	rdb     redis.UniversalClient
	owned   bool // rdb was made by Open and is closed by Close
	cfg     Config
	id      string
	codecs  *codecs
	onEvent []func(cyclone.StepEvent)
	firsts  firsts
	known   knownRuns
	enqueue EnqueueFunc // with the middleware around it

	space   atomic.Pointer[deployment]
	joining sync.Mutex

	laneCount atomic.Int64
	clock     clock
	rotation  atomic.Uint64 // spreads steps without a home over the partitions

	life   context.Context // ends with Close
	end    context.CancelFunc
	closed atomic.Bool
	work   sync.WaitGroup // batches under way, the event listener
	listen listener
}

// NewClient returns a client on the user's own go-redis client, of any topology,
// which stays the user's to close. It sends nothing yet: the first call joins
// the deployment and may report that Partitions or the schema do not agree with
// what is stored. The error names every bad field of cfg.
func NewClient(rdb redis.UniversalClient, cfg Config, opts ...cyclone.ClientOption) (*Client, error) {
	if rdb == nil {
		return nil, errors.New("queue: NewClient needs a Redis client")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	known, err := newCodecs(cfg.MaxPayload, cfg.Codec, cfg.Codecs...)
	if err != nil {
		return nil, err
	}
	c := &Client{rdb: rdb, cfg: cfg, id: randomID(), codecs: known}
	c.life, c.end = context.WithCancel(context.Background())
	c.listen.client = c
	for _, opt := range opts {
		if fn := opt.OnStepEvent(); fn != nil {
			c.onEvent = append(c.onEvent, fn)
		}
	}
	c.enqueue = c.store
	for i := len(cfg.Middleware) - 1; i >= 0; i-- {
		c.enqueue = cfg.Middleware[i](c.enqueue)
	}
	return c, nil
}

// Open is NewClient for a URL: redis://, rediss:// or unix://, with user,
// password and database as go-redis reads them. The connections are closed by
// Close.
func Open(url string, cfg Config, opts ...cyclone.ClientOption) (*Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("queue: Open: %w", err)
	}
	rdb := redis.NewClient(options)
	c, err := NewClient(rdb, cfg, opts...)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	c.owned = true
	return c, nil
}

// Close waits for the enqueues under way, ends subscriptions and, after Open,
// closes the connections. Calls that come later return [ErrClosed].
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.joining.Lock() // whoever joins now finds the client closed
	d := c.space.Load()
	c.joining.Unlock()
	if d != nil {
		for _, part := range d.parts {
			part.enqueues.close()
			part.builds.close()
		}
	}
	c.listen.close()
	c.end()
	c.work.Wait()
	if c.owned {
		return c.rdb.Close()
	}
	return nil
}

// randomID returns 80 random bits in 16 lower-case letters and digits.
func randomID() string { return strings.ToLower(rand.Text()[:16]) }

// clock follows Redis' clock by the times in its replies.
type clock struct{ offset atomic.Int64 } // nanoseconds to add to the local clock

func (k *clock) observe(serverMS int64) {
	if serverMS > 0 {
		k.offset.Store(serverMS*int64(time.Millisecond) - time.Now().UnixNano())
	}
}

// now is the time by Redis' clock, about as exact as the network is fast. It is
// for showing and for rough comparison: what must be exact is decided in scripts.
func (k *clock) now() time.Time { return time.Now().Add(time.Duration(k.offset.Load())) }

func (k *clock) nowMS() int64 { return k.now().UnixMilli() }
