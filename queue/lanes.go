package queue

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// Lanes are forgotten by the server when they were not renewed for sessionLife;
// a client renews one before its next call after renewAfter.
const (
	sessionLife = 24 * time.Hour
	renewAfter  = time.Hour
)

// lane is a session lane: calls on it are numbered, one at a time, so that a call
// that was sent twice is applied once. A void lane is never used again: a late
// original of its last call may still arrive.
type lane struct {
	name    string
	seq     int64
	renewed time.Time
	void    bool
	ids     idBlock
}

// idBlock is a range of id sequence numbers that belongs to one lane: were it
// shared, a lane whose writes a failover lost could hand out ids of another one.
type idBlock struct{ next, end int64 }

func (b *idBlock) len() int { return int(b.end - b.next) }

// lanePool holds the idle lanes of a partition.
type lanePool struct {
	part *partition
	mu   sync.Mutex
	idle []*lane
}

func (lp *lanePool) take() *lane {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	if n := len(lp.idle); n > 0 {
		l := lp.idle[n-1]
		lp.idle = lp.idle[:n-1]
		return l
	}
	return &lane{}
}

func (lp *lanePool) put(l *lane) {
	if l.void {
		return
	}
	lp.mu.Lock()
	defer lp.mu.Unlock()
	lp.idle = append(lp.idle, l)
}

// ensure opens the lane if it is new and renews it if it has been quiet. It returns
// errLaneVoid when the server has forgotten the lane meanwhile.
func (p *partition) ensure(ctx context.Context, l *lane) error {
	if l.name != "" && time.Since(l.renewed) < renewAfter {
		return nil
	}
	name := l.name
	if name == "" {
		name = p.client.id + "." + strconv.FormatInt(p.client.laneCount.Add(1), 10)
	}
	var call luascripts.Call
	luascripts.OpenCall(&call, luascripts.OpenKeys{Sess: p.keys.sess(), SessX: p.keys.sessx()}, name)
	reply, err := p.resend(ctx, luascripts.Open, &call, &tries{budget: connectFor})
	if err != nil {
		return err
	}
	p.client.clock.observe(luascripts.Now(reply))
	seq := luascripts.OpenNumbers(reply)[0]
	if l.name != "" && seq != l.seq {
		l.void = true
		return errLaneVoid
	}
	l.name, l.seq, l.renewed = name, seq, time.Now()
	return nil
}
