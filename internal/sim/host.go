package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var errDead = &net.OpError{Op: "dial", Net: "sim", Err: errors.New("the host is dead")}

// host is one process: what it sends goes over connections of its own, which
// freeze and die together.
type host struct {
	net  *network
	name string
	dice *rand.Rand

	mu     sync.Mutex
	dead   bool
	frozen time.Time // nothing comes or goes before
	links  []*link
	seen   map[uint64]int // how often a content was sent
}

func (n *network) newHost(name string) *host {
	key := hashOf(n.seed, []byte("dice"), []byte(name))
	return &host{net: n, name: name, dice: rand.New(rand.NewPCG(n.seed, key)), seen: map[uint64]int{}}
}

// roll is the host's dice.
func (h *host) roll() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dice.Float64()
}

// client returns a go-redis client of this host. retries is go-redis' own
// MaxRetries.
func (h *host) client(retries int) *redis.Client {
	o := h.net.server.Options()
	o.Dialer = h.dial
	o.MaxRetries = retries
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = time.Second, time.Second, time.Second
	o.PoolSize = 20
	return redis.NewClient(o)
}

func (h *host) dial(context.Context, string, string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return nil, errDead
	}
	server, err := h.net.server.Dial(context.Background(), "", "")
	if err != nil {
		return nil, err
	}
	l := newLink(h, server)
	h.links = append(h.links, l)
	go l.listen()
	return l, nil
}

// freeze holds back all that is on its way from or to the host, for a time: to the
// others it is a process that stands still.
func (h *host) freeze(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frozen = time.Now().Add(d)
}

// thawsIn is how long the host stays frozen.
func (h *host) thawsIn() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.frozen)
}

// crash ends all connections for good. What had been sent may still arrive.
func (h *host) crash() {
	h.mu.Lock()
	h.dead = true
	links := h.links
	h.links = nil
	h.mu.Unlock()
	for _, l := range links {
		l.hangUp(errReset)
	}
}

func (h *host) isDead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// drop ends the host's connections; new ones can be made.
func (h *host) drop() {
	h.mu.Lock()
	links := h.links
	h.links = nil
	h.mu.Unlock()
	for _, l := range links {
		l.hangUp(errReset)
	}
}
