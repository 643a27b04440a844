package faultproxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// link is one client's connection with one to the server. A goroutine carries
// each direction; due tells the replies' side of each request, in order.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	server net.Conn
	due    chan due
	ended  chan struct{}
	end    sync.Once
}

type due struct {
	fault  Fault
	stream bool
}

// maxDue bounds the requests that wait for replies. A client that writes a
// longer pipeline before it reads may stand still; ours stay far below.
const maxDue = 1 << 14

// sliceGap keeps the kernel from joining the pieces of a sliced reply again.
const sliceGap = 50 * time.Microsecond

func newLink(p *Proxy, client *net.TCPConn, server net.Conn) *link {
	return &link{proxy: p, client: client, server: server, due: make(chan due, maxDue), ended: make(chan struct{})}
}

// hangUp ends the link as a server does: what was written still arrives.
func (l *link) hangUp() {
	l.end.Do(func() {
		close(l.ended)
		_ = l.server.Close()
		_ = l.client.CloseWrite()
	})
}

// cut ends the link at once.
func (l *link) cut() {
	_ = l.client.Close()
	l.hangUp()
}

// requests carries the client's side until it ends or a fault ends it.
func (l *link) requests() {
	defer l.cut()
	defer l.drain()
	defer close(l.due) // the other side passes on what is due, then hangs up
	r := bufio.NewReader(l.client)
	for {
		var frame bytes.Buffer
		if err := readFrame(r, &frame); err != nil {
			return
		}
		c := parseCall(frame.Bytes())
		d := due{fault: l.proxy.decide(c)}
		d.stream = c.streams() && d.fault.kind != errorReply
		if !l.request(frame.Bytes(), d) {
			return
		}
		if d.stream {
			_, _ = io.Copy(l.server, r)
			return
		}
	}
}

// drain reads on until the client closes: a socket that is closed with bytes
// unread resets the connection, and the replies on their way are lost.
func (l *link) drain() { _, _ = io.Copy(io.Discard, l.client) }

// request carries one call and reports whether more may follow.
func (l *link) request(frame []byte, d due) bool {
	switch d.fault.kind {
	case dropRequest:
		return false
	case cutRequest:
		_, _ = l.server.Write(frame[:min(d.fault.bytes, len(frame))])
		return false
	case reset:
		_ = l.client.SetLinger(0)
		l.cut()
		return false
	case hang:
		<-l.ended
		return false
	case delayRequest:
		l.sleep(d.fault.wait)
	case errorReply:
		frame = nil
	}
	select {
	case l.due <- d:
	case <-l.ended:
		return false
	}
	if _, err := l.server.Write(frame); err != nil {
		return false
	}
	if d.fault.kind == hangReply {
		<-l.ended
		return false
	}
	return true
}

// replies carries the server's side until no reply is due any more.
func (l *link) replies() {
	defer l.hangUp()
	r := bufio.NewReader(l.server)
	for d := range l.due {
		frame, err := l.nextReply(r, d)
		if err != nil || !l.reply(frame, d.fault) {
			return
		}
		if d.stream {
			_, _ = io.Copy(l.client, r)
			return
		}
	}
}

// nextReply returns the frame that answers a request, and passes on the pushes
// of RESP3 before it: those answer nothing, unless the request subscribes.
func (l *link) nextReply(r *bufio.Reader, d due) ([]byte, error) {
	if d.fault.kind == errorReply {
		return []byte("-" + d.fault.text + "\r\n"), nil
	}
	for {
		var frame bytes.Buffer
		if err := readFrame(r, &frame); err != nil {
			return nil, err
		}
		if push := frame.Bytes()[0] == '>'; !push || d.stream {
			return frame.Bytes(), nil
		}
		if _, err := frame.WriteTo(l.client); err != nil {
			return nil, err
		}
	}
}

// reply carries one reply and reports whether more may follow.
func (l *link) reply(frame []byte, f Fault) bool {
	piece := len(frame)
	switch f.kind {
	case dropReply:
		return false
	case cutReply:
		_, _ = l.client.Write(frame[:min(f.bytes, len(frame))])
		return false
	case hangReply:
		<-l.ended
		return false
	case delayReply:
		l.sleep(f.wait)
	case slice:
		piece = max(f.bytes, 1)
	}
	for part := range slices.Chunk(frame, piece) {
		if _, err := l.client.Write(part); err != nil {
			return false
		}
		if piece < len(frame) {
			l.sleep(sliceGap)
		}
	}
	return true
}

// sleep waits for d, or until the connection ends.
func (l *link) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.ended:
	}
}
