package lab

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Plug is a client's way to its server. Pulled out, nothing gets there and
// nothing comes back: to the server the client looks dead.
type Plug struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu    sync.Mutex
	out   bool
	conns map[net.Conn]struct{}
}

var errPulled = errors.New("lab: the plug is pulled")

// newPlug stands between the client that will be made with o and its server.
func newPlug(o *redis.Options) *Plug {
	p := &Plug{dial: o.Dialer, conns: make(map[net.Conn]struct{})}
	if p.dial == nil {
		p.dial = new(net.Dialer).DialContext
	}
	o.Dialer = p.connect
	return p
}

// Pull cuts all connections and refuses new ones.
func (p *Plug) Pull() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = true
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// Insert lets new connections through again.
func (p *Plug) Insert() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = false
}

func (p *Plug) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	if out {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errPulled}
	}
	conn, err := p.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out {
		_ = conn.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: errPulled}
	}
	p.conns[conn] = struct{}{}
	return conn, nil
}
