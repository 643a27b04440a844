package faultproxy

import (
	"net"
	"sync"
)

// Proxy listens on 127.0.0.1 and forwards to one server. Its methods may be
// called from several goroutines.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	rules   []*Active
	links   map[*link]struct{}
	refused bool
}

// Start returns a proxy in front of the server at target, a host:port. The
// caller closes it.
func Start(target string) (*Proxy, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: l, links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Refuse cuts all connections and closes new ones at once, until it is called
// with false: a server that is down.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = on
	if on {
		for l := range p.links {
			l.cut()
		}
	}
}

// Close stops listening, cuts all connections and waits for the proxy's
// goroutines.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Refuse(true)
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.connect(client) })
	}
}

// connect runs one connection to its end.
func (p *Proxy) connect(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := newLink(p, client.(*net.TCPConn), server)
	p.mu.Lock()
	p.links[l] = struct{}{}
	if p.refused {
		l.cut()
	}
	p.mu.Unlock()

	var both sync.WaitGroup
	both.Go(l.requests)
	both.Go(l.replies)
	both.Wait()

	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}
