package faults_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/internal/faultproxy"
)

// network is an experiment in which single calls are hit by a fault with a chance.
func network(seed uint64, chance float64, faults ...faultproxy.Fault) experiment {
	rules := make([]atomic.Pointer[faultproxy.Active], len(faults))
	hits := func() (n int) {
		for i := range rules {
			if r := rules[i].Load(); r != nil {
				n += r.Hits()
			}
		}
		return n
	}
	enough := func() bool { return hits() >= 20 }
	return experiment{acknowledged: 100, enough: enough, proxied: true, faults: func(ctx context.Context, p *plant) {
		for i, f := range faults {
			rules[i].Store(p.proxy.Add(faultproxy.Rule{
				Times: faultproxy.Always, Chance: chance, Seed: seed + uint64(i)<<32, Fault: f,
			}))
		}
		<-ctx.Done()
		for i := range rules {
			rules[i].Load().Remove()
		}
		p.Logf("%d calls were hit", hits())
		if !enough() {
			p.Errorf("%d calls were hit: want enough of them", hits())
		}
	}}
}

// patient are leases that outlast what a busy machine does to a worker, where none
// may be lost.
const patient = 15 * time.Second

// F-20, F-22: replies are lost after the execution, and requests before it.
func TestLostMessages(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		x := network(seed, 0.05, faultproxy.DropReply(), faultproxy.DropRequest(), faultproxy.CutReply(3))
		x.lease = patient
		p := x.run(t, seed)
		if p.unsure+p.refused+p.total("lost")+p.again() != 0 {
			t.Errorf("%d unsure, %d refused, %d lost, %d executed in vain: want none", p.unsure, p.refused, p.total("lost"), p.again())
		}
	})
}

// F-24: connections are reset, or become black holes.
func TestHungConnections(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		x := network(seed, 0.01, faultproxy.Reset(), faultproxy.Hang(), faultproxy.HangReply())
		x.readTimeout, x.lease = 500*time.Millisecond, 5*time.Second
		x.run(t, seed)
	})
}

// F-25, F-26: the network is slow, and passes on a byte at a time.
func TestSlowNetwork(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		x := network(seed, 0.1, faultproxy.DelayReply(50*time.Millisecond), faultproxy.Delay(200*time.Millisecond), faultproxy.Slice(1))
		x.lease = patient
		p := x.run(t, seed)
		if p.unsure+p.refused+p.total("lost")+p.again() != 0 {
			t.Errorf("%d unsure, %d refused, %d lost, %d executed in vain: want none", p.unsure, p.refused, p.total("lost"), p.again())
		}
	})
}

// Redis answers with the errors of a failover.
func TestFailoverErrors(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		x := network(seed, 0.05,
			faultproxy.ErrorReply("LOADING Redis is loading the dataset in memory"),
			faultproxy.ErrorReply("READONLY You can't write against a read only replica."),
			faultproxy.ErrorReply("ERR READONLY You can't write against a read only replica"),
			faultproxy.ErrorReply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
			faultproxy.ErrorReply("CLUSTERDOWN The cluster is down"),
			faultproxy.ErrorReply("TRYAGAIN Multiple keys request during rehashing of slot"),
		)
		x.lease = patient
		p := x.run(t, seed)
		if p.unsure+p.refused+p.total("lost")+p.again() != 0 {
			t.Errorf("%d unsure, %d refused, %d lost, %d executed in vain: want none", p.unsure, p.refused, p.total("lost"), p.again())
		}
	})
}
