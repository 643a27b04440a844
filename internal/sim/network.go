package sim

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// network carries messages between the hosts and the server, with the faults that
// the seed asks for.
type network struct {
	k      *kernel
	server *embedded.Server
	seed   uint64
	faults Faults
	broken atomic.Bool // faults are on
	refuse refusals    // by the server
	trace  *trace
	cover  *Coverage

	fail   func(format string, args ...any)
	second int64          // of paces
	paces  map[string]int // commands by host
	brisk  int            // how many times as many as usual are no sign of going round
	busy   *delivery      // what is being executed
	judge  func(*delivery)
	fillUp func(*rand.Rand) // makes the server full for a while
}

// delivery is one command that reaches the server.
type delivery struct {
	host    string
	args    []string
	content []byte
	reply   []byte
	wait    time.Duration // until the reply arrives
}

// fate is what the network does with one request.
type fate uint8

const (
	fine fate = iota
	lostRequest
	lostReply
	late       // the caller's connection breaks; the request arrives much later
	duplicated // it arrives, and much later again
)

// message is a request on its way.
type message struct {
	raw     []byte
	args    []string
	content []byte // without what is random
	fate    fate
	rng     *rand.Rand
	key     uint64
}

// plan decides about a request by its content, so that it does not matter which
// connection carries it.
func (n *network) plan(h *host, raw []byte, args []string) (m *message, latency time.Duration) {
	content := normal(args)
	key := hashOf(n.seed, []byte(h.name), content)
	h.seen[key]++
	key = hashOf(key, []byte{byte(h.seen[key])}, []byte{byte(h.seen[key] >> 8)})
	m = &message{raw: raw, args: args, content: content, key: key, rng: rand.New(rand.NewPCG(n.seed, key))}
	if handshake(args) {
		return m, 0
	}
	latency = n.latency(m.rng)
	if !n.broken.Load() || !isScript(args) {
		return m, latency
	}
	dice := m.rng.Float64()
	for _, c := range [...]struct {
		rate float64
		fate fate
	}{{n.faults.LostRequest, lostRequest}, {n.faults.LostReply, lostReply}, {n.faults.Late, late}, {n.faults.Duplicated, duplicated}} {
		if dice < c.rate {
			m.fate = c.fate
			break
		}
		dice -= c.rate
	}
	return m, latency
}

// handshake tells that a command opens a connection. That takes no time: it must
// make no difference which of two callers got a connection that was open.
func handshake(args []string) bool { return strings.EqualFold(args[0], "hello") }

func (n *network) latency(rng *rand.Rand) time.Duration {
	d := 20*time.Microsecond + time.Duration(rng.Int64N(int64(400*time.Microsecond)))
	if n.broken.Load() && rng.Float64() < n.faults.Slow {
		d += time.Duration(rng.Int64N(int64(3 * time.Second)))
	}
	return d
}

func isScript(args []string) bool {
	return len(args) > 3 && (strings.EqualFold(args[0], "evalsha") || strings.EqualFold(args[0], "eval"))
}

// scriptOf returns the script that a command runs, nil for any other command.
func scriptOf(args []string) *luascripts.Script {
	if !isScript(args) {
		return nil
	}
	for _, s := range luascripts.All() {
		if args[1] == s.SHA || args[1] == s.Source {
			return s
		}
	}
	return nil
}

// keysOf returns the keys and arguments of a script's call.
func keysOf(args []string) (keys, argv []string) {
	n := 0
	for _, c := range args[2] {
		n = n*10 + int(c-'0')
	}
	return args[3 : 3+n], args[3+n:]
}

// begin notes that a command is executed from now on; settle is called when it is.
func (n *network) begin(d *delivery) {
	n.busy = d
	n.refuse.begin()
	n.trace.add(d.host, d.content)
	n.pace(d.host)
}

// spinning is how many commands of one worker in one second tell that it goes round
// and round. The busiest workers of the simulation send a tenth of it; those that work
// on runs of very many nodes more.
const spinning = 500

// pace counts a host's commands of each second.
func (n *network) pace(host string) {
	if second := time.Now().Unix(); second != n.second {
		n.second = second
		clear(n.paces)
	}
	if n.paces[host]++; n.paces[host] == spinning*n.brisk && strings.HasPrefix(host, "worker") {
		n.fail("%s has sent %d commands within a second", host, n.paces[host])
	}
}

func (n *network) settle() {
	if d := n.busy; d != nil {
		n.busy = nil
		n.judge(d)
	}
}

// orphan delivers a request whose connection is gone, or that had been delivered
// before. Nobody hears the reply.
func (n *network) orphan(from string, m *message, after time.Duration) {
	n.k.in(after, m.key, func() {
		conn, err := n.server.Dial(context.Background(), "", "")
		if err != nil {
			return
		}
		d := &delivery{host: from, args: m.args, content: m.content}
		go capture(conn, d)
		n.begin(d)
		_, _ = conn.Write(m.raw)
		n.k.in(time.Nanosecond, m.key, func() { _ = conn.Close() })
	})
}

// capture reads the reply to a request that nobody waits for.
func capture(conn net.Conn, d *delivery) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		d.reply = append(d.reply, buf[:n]...)
		if err != nil {
			return
		}
	}
}
