package topology_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestSentinel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a failover")
	}
	// The primary refuses to write what its replica does not get: else it would go on
	// alone from the promotion until its clients hear of it, and that would be lost.
	c := testserver.StartSentinel(t, testserver.Redis, 1, 1, "--min-replicas-to-write", "1")
	s := &site{TB: t, options: c.Options, prefix: c.Prefix, partitions: 4, env: map[string]string{
		"CYCLONE_SENTINEL": strings.Join(c.Addrs(), ","), "CYCLONE_MASTER_NAME": c.MasterName(), "CYCLONE_PREFIX": c.Prefix,
	}}
	s.open()
	s.story()
	s.failover(c)
}

// failover has the replica take over while there is load.
func (s *site) failover(c *testserver.Sentinel) {
	s.Helper()
	stop := s.work(3 * time.Second) // what the failover loses of a settlement runs again after that
	ctx, end := context.WithCancel(s.Context())
	defer end()
	producers := []*producer{
		{site: s, name: "sure", replicas: 1, acked: map[string]bool{}},
		{site: s, name: "swift", acked: map[string]bool{}},
		{site: s, name: "later", delay: 300 * time.Millisecond, acked: map[string]bool{}},
	}
	var load sync.WaitGroup
	for _, p := range producers {
		load.Go(func() { p.run(ctx) })
	}
	s.until("there is load", func() error { return producers[0].past(20) })
	began := time.Now()
	now := c.Failover()
	s.Logf("%s took over after %v", now, time.Since(began).Round(time.Millisecond))
	before := producers[1].count()
	s.until("it goes on", func() error { return producers[1].past(before + 20) })
	s.Logf("enqueues went on %v after the failover began", time.Since(began).Round(time.Millisecond))
	end()
	load.Wait()
	for _, p := range producers {
		p.settle()
	}
	s.drained(queueNames...)
	stop()
	for _, p := range producers {
		p.check()
	}
	s.cli("doctor")
	s.sound()
}

// producer enqueues one job after another, each under a request key.
type producer struct {
	*site
	name     string
	replicas int // that have to confirm
	delay    time.Duration

	mu    sync.Mutex
	acked map[string]bool // whether no error came, by key
}

func (p *producer) run(ctx context.Context) {
	client := p.newClient()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		key := fmt.Sprintf("%s%d", p.name, i)
		options := []cyclone.EnqueueOption{cyclone.WithRequestKey(key), cyclone.WithDelay(p.delay)}
		if p.replicas > 0 {
			options = append(options, cyclone.WaitReplicas(p.replicas))
		}
		_, err := cyclone.EnqueueAction(ctx, client, plain, key, options...)
		p.mu.Lock()
		p.acked[key] = err == nil
		p.mu.Unlock()
	}
}

func (p *producer) count() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ok := range p.acked {
		if ok {
			n++
		}
	}
	return n
}

// past returns nil when that many enqueues were acknowledged.
func (p *producer) past(n int) error {
	if have := p.count(); have < n {
		return fmt.Errorf("%d enqueues were acknowledged, of %d", have, n)
	}
	return nil
}

// settle asks for every job again. What was acknowledged is there, or was: a failover
// may lose what no replica had confirmed, and nothing else.
func (p *producer) settle() {
	p.Helper()
	unsure, lost := 0, 0
	for key, acked := range p.acked {
		run := must(cyclone.EnqueueAction(p.Context(), p.client, plain, key, cyclone.WithRequestKey(key)))(p)
		switch {
		case !acked:
			unsure++
		case !run.Existing():
			lost++
		}
	}
	p.Logf("%s: %d enqueues, %d unsure, %d lost in the failover", p.name, len(p.acked), unsure, lost)
	if lost > 0 && p.replicas > 0 {
		p.Errorf("%d of %s were lost, which a replica had confirmed", lost, p.name)
	}
}

// check fails the test when a job was not done.
func (p *producer) check() {
	p.Helper()
	twice := 0
	for key := range p.acked {
		switch n := p.jobs.times(key); {
		case n == 0:
			p.Errorf("job %s was not done", key)
		case n > 1:
			twice++
		}
	}
	p.Logf("%s: %d jobs were done again", p.name, twice)
}
