package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/workflow"
)

const (
	// loaders is how many goroutines enqueue runs.
	loaders = 4
	// backlog is how many unfinished steps hold enqueues back, so that runs are built,
	// driven and finished all at once.
	backlog = 1500
	// sweepBound is how long a sweep that died with its worker may be put off.
	sweepBound = 31 * time.Second
	// thorough is the number of runs from which on a campaign waits for that.
	thorough = 2000
)

// campaign is an experiment with a number of runs of many steps.
type campaign struct {
	*plant

	runs    int
	voyages map[cyclone.RunID]*voyage // guarded by plant.mu
	began   time.Time
	kills   int
	servers int          // times that the server was killed
	zombies map[int]bool // process ids of those that were frozen, guarded by plant.mu
	flushes int
	hits    int // calls whose messages were lost
	looks   journalLooks
}

// voyageFault does something bad now and then until ctx is done.
type voyageFault func(ctx context.Context, c *campaign)

// runCampaign has runs driven while the faults are at work, and looks at what came of it.
func runCampaign(t *testing.T, x experiment, runs int, seed uint64, faults ...voyageFault) *campaign {
	t.Helper()
	x.drainWithin = sweepBound + 30*time.Second
	c := &campaign{plant: x.build(t, seed), runs: runs, voyages: make(map[cyclone.RunID]*voyage), zombies: make(map[int]bool), began: time.Now()}
	for range c.workers {
		c.hire()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var busy, bad sync.WaitGroup
	for _, f := range faults {
		bad.Go(func() { f(ctx, c) })
	}
	for n := range loaders {
		busy.Go(func() { c.load(ctx, rand.New(rand.NewPCG(seed, uint64(n+1))), (runs+n)/loaders) })
	}
	busy.Wait()
	// The faults go on as long as there is enough to hit.
	c.lab.Until("most runs have ended", func() bool { left, err := c.unfinished(); return err == nil && left < backlog/20 })
	cancel()
	bad.Wait()
	if c.runs < thorough {
		c.age("sweep")
	}
	c.drain(time.Now())
	for _, p := range c.all() {
		if !p.killed {
			p.stop() // and all that it has said is here
		}
	}
	c.judge()
	return c
}

// load enqueues n runs.
func (c *campaign) load(ctx context.Context, dice *rand.Rand, n int) {
	var waiting []cyclone.RunID
	for range n {
		c.holdBack(ctx)
		v := plan(dice)
		id, err := c.send(ctx, v)
		c.record(id, v, err)
		if err == nil && v.waits {
			waiting = append(waiting, id)
		}
		// Signals come before, during and after the beginning of the wait.
		for len(waiting) > 0 && dice.IntN(3) > 0 {
			i := dice.IntN(len(waiting))
			c.signal(ctx, waiting[i])
			waiting[i] = waiting[len(waiting)-1]
			waiting = waiting[:len(waiting)-1]
		}
	}
	for _, id := range waiting {
		c.signal(ctx, id)
	}
}

// holdBack waits until there is not too much to do.
func (c *campaign) holdBack(ctx context.Context) {
	for ctx.Err() == nil {
		if left, err := c.unfinished(); err == nil && left < backlog {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (c *campaign) send(ctx context.Context, v *voyage) (cyclone.RunID, error) {
	if v.b == nil {
		run, err := cyclone.EnqueueTask(ctx, c.client, fiveTask, v.input)
		if err != nil {
			return 0, err
		}
		return run.ID(), nil
	}
	run, err := workflow.EnqueueFor(ctx, c.client, v.result)
	if err != nil {
		return 0, err
	}
	return run.ID(), nil
}

// record writes down what was acknowledged.
func (c *campaign) record(id cyclone.RunID, v *voyage, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.voyages[id] = v
	case errors.Is(err, cyclone.ErrUnknownOutcome):
		c.unsure++
	default:
		if c.refused++; c.refused <= 3 {
			c.Logf("refused: %v", err)
		}
	}
}

// signal sends the signal until it is known to have arrived.
func (c *campaign) signal(ctx context.Context, id cyclone.RunID) {
	sent := false
	for ctx.Err() == nil {
		err := c.client.Signal(ctx, id, approval, approved, queue.SignalKey("the only one"))
		// A run that has ended has had it.
		if err == nil || sent && errors.Is(err, queue.ErrFinished) {
			return
		}
		if errors.Is(err, queue.ErrFinished) || errors.Is(err, cyclone.ErrNotFound) {
			c.Errorf("signal to run %v: %v", id, err)
			return
		}
		sent = true
		<-time.After(20 * time.Millisecond)
	}
}

// age makes the time of every member of an index lie in the past.
func (c *campaign) age(name string) {
	c.Helper()
	ctx, key := context.Background(), c.server.Prefix+":{0}:"+name
	members, err := c.lab.Redis.ZRange(ctx, key, 0, -1).Result()
	if err != nil {
		c.Fatal(err)
	}
	for some := range slices.Chunk(members, 1000) {
		aged := make([]redis.Z, len(some))
		for i, m := range some {
			aged[i] = redis.Z{Score: 1, Member: m}
		}
		c.lab.Redis.ZAddXX(ctx, key, aged...)
	}
}

// beat calls f every d until ctx is done.
func beat(ctx context.Context, d time.Duration, f func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(d):
			f()
		}
	}
}

// killWorkers kills one worker process after the other, and looks at the journals of
// all tasks each time.
func killWorkers(ctx context.Context, c *campaign) {
	c.every(ctx, 300*time.Millisecond, func() {
		victim := c.pick()
		c.fire(victim)
		victim.kill()
		c.kills++
		c.lookAtJournals()
		c.hire()
	})
}

// freezeWorkers freezes a worker process until its leases have ended, now and then.
func freezeWorkers(ctx context.Context, c *campaign) {
	beat(ctx, time.Second, func() {
		zombie := c.start() // which nobody kills
		select {
		case <-time.After(300 * time.Millisecond): // it gets something to do
		case <-ctx.Done():
		}
		zombie.freeze()
		select {
		case <-time.After(c.lease * 5 / 4):
		case <-ctx.Done():
		}
		zombie.thaw()
		zombie.stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.zombies[zombie.cmd.Process.Pid] = true
		c.gone = append(c.gone, zombie)
	})
}

// flushScripts makes the server forget all scripts.
func flushScripts(ctx context.Context, c *campaign) {
	beat(ctx, 50*time.Millisecond, func() {
		if c.lab.Redis.ScriptFlush(context.Background()).Err() == nil {
			c.flushes++
		}
	})
}

// killServer kills the server and starts it again with what is in its file.
func killServer(ctx context.Context, c *campaign) {
	canary := c.startCanary()
	beat(ctx, time.Second, func() {
		c.server.Kill()
		c.servers++
		c.server.Restart()
	})
	canary.stop()
	if lost := canary.lost.Load(); lost > 0 {
		c.Logf("Redis lost %d acknowledged increments of its own", lost)
		c.lossy = true
	}
}

// loseMessages cuts connections before and behind what they carry, one call in twenty.
func loseMessages(ctx context.Context, c *campaign) {
	var rules []*faultproxy.Active
	for i, f := range []faultproxy.Fault{faultproxy.DropReply(), faultproxy.DropRequest(), faultproxy.CutReply(3)} {
		rules = append(rules, c.proxy.Add(faultproxy.Rule{Times: faultproxy.Always, Chance: 0.05, Seed: uint64(i), Fault: f}))
	}
	<-ctx.Done()
	for _, r := range rules {
		r.Remove()
		c.hits += r.Hits()
	}
}

// journalLooks counts what was seen of the journals of tasks.
type journalLooks struct{ all, partial int }

// lookAtJournals checks that what each task has recorded is a contiguous prefix.
func (c *campaign) lookAtJournals() {
	ctx, base := context.Background(), c.server.Prefix+":{0}:"
	members, err := c.lab.Redis.ZRange(ctx, base+"journals", 0, 499).Result()
	if err != nil {
		return // the server has been killed as well
	}
	for _, member := range members {
		fields, err := c.lab.Redis.HKeys(ctx, base+"journal:"+member).Result()
		if err != nil {
			return
		}
		recorded := make(map[string]bool)
		for _, field := range fields {
			if name, ok := strings.CutPrefix(field, "r:s"); ok {
				recorded["s"+name] = true
			}
		}
		for n := 1; n <= len(recorded); n++ {
			if !recorded[stepName(n)+"#1"] {
				c.Errorf("task %s has recorded %v: no contiguous prefix", member, fields)
			}
		}
		if c.looks.all++; len(recorded) > 0 && len(recorded) < recordedSteps {
			c.looks.partial++
		}
	}
}
