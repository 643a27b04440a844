package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
)

// experiment is load under faults.
type experiment struct {
	// server are arguments of the server.
	server []string
	// lease of the workers, 2 s by default.
	lease time.Duration
	// workers is how many processes work at once, 3 by default.
	workers int
	// lasts is how long the load and the faults go on at least, 5 s by default.
	lasts time.Duration
	// enough tells whether enough has happened for the result to mean something. On a
	// busy machine load and faults go on until it has, five times as long at the most.
	enough func() bool
	// takes is the longest that a handler takes, 60 ms by default.
	takes time.Duration
	// readTimeout is that of all connections, 3 s by default.
	readTimeout time.Duration
	// proxied puts the fault proxy between everything and the server.
	proxied bool
	// faults runs beside the load until ctx is done; it leaves the plant whole.
	faults func(ctx context.Context, p *plant)
	// drainWithin bounds the time from the end of the faults to the end of the
	// last step, 20 s by default.
	drainWithin time.Duration
	// acknowledged is how many enqueues must have succeeded.
	acknowledged int
}

// plant is an experiment under way.
type plant struct {
	*testing.T
	experiment

	dice   *rand.Rand // of the faults
	server *testserver.RealServer
	proxy  *faultproxy.Proxy
	lab    *lab.Lab
	ledger *ledger
	client *queue.Client
	addr   string

	mu       sync.Mutex
	children []*process // alive
	gone     []*process
	acked    map[cyclone.RunID]work
	unsure   int  // enqueues without an answer
	refused  int  // enqueues that were answered with an error
	lossy    bool // Redis lost writes that it had acknowledged
}

// run runs the experiment with one seed.
func (x experiment) run(t *testing.T, seed uint64) *plant {
	t.Helper()
	p := x.build(t, seed)
	for range p.workers {
		p.hire()
	}
	// Load and faults.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var busy sync.WaitGroup
	busy.Go(func() {
		defer cancel()
		for began := time.Now(); time.Since(began) < p.lasts || !p.hasEnough() && time.Since(began) < 5*p.lasts; {
			<-time.After(20 * time.Millisecond)
		}
	})
	for n := range 4 {
		busy.Go(func() { p.load(ctx, rand.New(rand.NewPCG(seed, uint64(n+1)))) })
	}
	if p.faults != nil {
		p.faults(ctx, p)
	}
	<-ctx.Done()
	faultsEnded := time.Now()
	busy.Wait()
	// Drain.
	p.drain(faultsEnded)
	// Audit.
	p.Logf("%d acknowledged", len(p.acked))
	p.judge()
	return p
}

func (p *plant) hasEnough() bool {
	p.mu.Lock()
	acked := len(p.acked)
	p.mu.Unlock()
	return acked >= p.acknowledged && (p.enough == nil || p.enough())
}

func (x experiment) build(t *testing.T, seed uint64) *plant {
	t.Helper()
	p := &plant{T: t, experiment: x, dice: rand.New(rand.NewPCG(seed, 0)), ledger: newLedger(t), acked: make(map[cyclone.RunID]work)}
	if p.lease == 0 {
		p.lease = 2 * time.Second
	}
	if p.workers == 0 {
		p.workers = 3
	}
	if p.lasts == 0 {
		p.lasts = 5 * time.Second
	}
	if p.takes == 0 {
		p.takes = 60 * time.Millisecond
	}
	if p.readTimeout == 0 {
		p.readTimeout = 3 * time.Second
	}
	if p.drainWithin == 0 {
		p.drainWithin = 20 * time.Second
	}
	p.server = testserver.Real(t, x.server...)
	p.addr = p.server.Addr()
	if x.proxied {
		proxy, err := faultproxy.Start(p.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proxy.Close)
		p.proxy, p.addr = proxy, proxy.Addr()
	}
	p.lab = lab.New(t, p.server.Server)
	rdb := redis.NewClient(&redis.Options{Addr: p.addr, ReadTimeout: p.readTimeout})
	t.Cleanup(func() { _ = rdb.Close() })
	var err error
	p.client, err = queue.NewClient(rdb, queue.Config{Prefix: p.server.Prefix, Logger: p.lab.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Close() })
	return p
}

// hire starts one more worker process.
func (p *plant) hire() *process {
	p.Helper()
	c := p.start()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.children = append(p.children, c)
	return c
}

// start starts a worker process that is none of those to pick from.
func (p *plant) start() *process {
	p.Helper()
	return spawn(p.T, childConfig{
		Addr: p.addr, Prefix: p.server.Prefix, Lease: p.lease, Heartbeat: p.lease / 5, Grace: time.Second,
		Concurrency: 10, ReadTimeout: p.readTimeout,
	}, p.ledger)
}

// pick returns any worker process that lives.
func (p *plant) pick() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.children[p.dice.IntN(len(p.children))]
}

// fire takes a process off the list of the living.
func (p *plant) fire(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.children {
		if p.children[i] == c {
			p.children = append(p.children[:i], p.children[i+1:]...)
			p.gone = append(p.gone, c)
			return
		}
	}
}

// all returns every process, dead ones included.
func (p *plant) all() []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(append([]*process(nil), p.children...), p.gone...)
}

// every calls f again and again until ctx is done, with a pause of d on average.
func (p *plant) every(ctx context.Context, d time.Duration, f func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(d/2 + time.Duration(p.dice.Int64N(int64(d)))):
			f()
		}
	}
}

// load enqueues steps of every sort until ctx is done.
func (p *plant) load(ctx context.Context, dice *rand.Rand) {
	job := cyclone.DeclareAction[work]("job")
	task := cyclone.DeclareTask[work, string]("task")
	for n := 0; ctx.Err() == nil; n++ {
		batch := make([]cyclone.Request, 1+dice.IntN(4))
		inputs := make([]work, len(batch))
		for i := range batch {
			in := work{Key: fmt.Sprint(dice.Uint64()), Takes: time.Duration(dice.Int64N(int64(p.takes)))}
			var opts []cyclone.EnqueueOption
			switch dice.IntN(10) {
			case 0:
				in.Fails = 1 + dice.IntN(2)
			case 1:
				in.Naps = true
			case 2:
				opts = append(opts, cyclone.WithDelay(time.Duration(dice.IntN(300))*time.Millisecond))
			case 3:
				opts = append(opts, cyclone.WithUnique(cyclone.Unique{Key: in.Key}), cyclone.WithPriority(cyclone.High))
			}
			inputs[i], batch[i] = in, job.With(in, opts...)
			if dice.IntN(5) == 0 {
				batch[i] = task.With(in, opts...)
			}
		}
		// A caller does not give up because the faults have stopped.
		receipts, err := p.client.Enqueue(context.WithoutCancel(ctx), batch...)
		p.note(inputs, receipts, err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(dice.IntN(60)) * time.Millisecond):
		}
	}
}

// note writes down what was acknowledged.
func (p *plant) note(inputs []work, receipts []cyclone.Receipt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if receipts == nil {
		receipts = make([]cyclone.Receipt, len(inputs))
		for i := range receipts {
			receipts[i].Err = err
		}
	}
	for i, r := range receipts {
		switch {
		case r.Err == nil:
			p.acked[r.ID] = inputs[i]
		case errors.Is(r.Err, cyclone.ErrUnknownOutcome):
			p.unsure++
		default:
			if p.refused++; p.refused <= 3 {
				p.Logf("refused: %v", r.Err)
			}
		}
	}
}

// drain waits until every step has come to its end.
func (p *plant) drain(since time.Time) {
	p.Helper()
	for {
		left, err := p.unfinished()
		if err == nil && left == 0 {
			p.Logf("%d unsure, %d refused; drained %v after the faults", p.unsure, p.refused, time.Since(since).Round(time.Millisecond))
			return
		}
		if time.Since(since) > p.drainWithin {
			p.Fatalf("%d steps are not finished %v after the faults (%v)", left, p.drainWithin, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// unfinished returns how many steps have not come to their end.
func (p *plant) unfinished() (int64, error) {
	ctx, base := context.Background(), p.server.Prefix+":{0}:"
	pipe := p.lab.Redis.Pipeline()
	all := pipe.HLen(ctx, base+"steps")
	var ended []*redis.IntCmd
	for _, state := range []string{"completed", "discarded", "cancelled"} {
		ended = append(ended, pipe.ZCard(ctx, base+state+":default"))
	}
	ended = append(ended, pipe.ZCard(ctx, base+"runs"))
	if _, err := pipe.Exec(ctx); err != nil {
		return -1, err
	}
	left := all.Val()
	for _, n := range ended {
		left -= n.Val()
	}
	return left, nil
}

// total returns how often a transition happened.
func (p *plant) total(verb string) int {
	p.Helper()
	stats, err := p.client.Stats(context.Background(), 1)
	if err != nil {
		p.Fatal(err)
	}
	return int(stats.Totals[cyclone.EventType(verb)])
}

// judge checks what must hold after any faults.
func (p *plant) judge() {
	p.Helper()
	if len(p.acked) < p.acknowledged {
		p.Errorf("%d enqueues were acknowledged, want at least %d for the result to mean anything", len(p.acked), p.acknowledged)
	}
	// Nothing acknowledged is lost, and everything succeeded in the end.
	for _, err := range p.missing() {
		p.Error(err)
	}
	// Each step that was stored ended once; an enqueue whose answer was lost, and
	// was sent again, was stored once.
	stored, completed, discarded := p.total("enqueued"), p.total("completed"), p.total("discarded")
	if completed+discarded != stored || discarded != 0 {
		p.Errorf("%d steps were stored, %d completed and %d discarded", stored, completed, discarded)
	}
	if most := len(p.acked) + p.unsure; stored < len(p.acked) && !p.lossy || stored > most {
		p.Errorf("%d steps were stored, %d were acknowledged and %d are unsure", stored, len(p.acked), p.unsure)
	}
	p.lab.MustAgree()
	report, err := p.client.Audit(context.Background(), queue.AuditOptions{})
	if err != nil || len(report.Findings) > 0 {
		p.Errorf("Audit: %+v (%v)", report.Findings, err)
	}
	for _, left := range p.lab.Leftovers() {
		if !strings.Contains(left, ":workers ") && !strings.Contains(left, ":waiters:") && !strings.Contains(left, ":offers ") && !strings.Contains(left, ":completed:") &&
			!strings.Contains(left, ":steps ") && !strings.Contains(left, ":results ") && !strings.Contains(left, ":history ") && !strings.Contains(left, ":tries ") {
			p.Errorf("left over: %s", left)
		}
	}
}

// missing returns what is wrong with the acknowledged steps, but for those that
// Redis itself lost. What the processes have said may still be on its way.
func (p *plant) missing() (wrong []error) {
	if p.lossy {
		return nil
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		wrong = nil
		for id, in := range p.acked {
			if err := p.ledger.check(id, in.Fails); err != nil {
				wrong = append(wrong, err)
			}
		}
		if len(wrong) == 0 || time.Now().After(deadline) {
			return wrong
		}
		<-time.After(50 * time.Millisecond)
	}
}

// again returns how many executions came to no settlement.
func (p *plant) again() (n int) {
	p.Helper()
	settled := p.total("completed") + p.total("failed") + p.total("snoozed")
	for deadline := time.Now().Add(3 * time.Second); ; {
		if n = p.ledger.executions() - settled; n == 0 || time.Now().After(deadline) {
			return n
		}
		<-time.After(50 * time.Millisecond)
	}
}
