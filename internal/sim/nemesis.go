package sim

import (
	"math/rand/v2"
	"time"
)

// nemesis plans the faults that come from time to time.
func (w *world) nemesis() {
	rng := w.rng("nemesis")
	f := w.cfg.Faults
	for _, c := range []struct {
		mean time.Duration
		do   func(*rand.Rand)
	}{
		{f.Crash, w.crashOne}, {f.Freeze, w.freezeOne}, {f.Drop, w.dropOne}, {f.Error, w.loading}, {f.Full, w.fillUp},
		{f.Flush, w.flushScripts}, {f.Jump, w.jump}, {f.Stop, w.stopOne},
	} {
		if c.mean > 0 {
			w.recur(rand.New(rand.NewPCG(rng.Uint64(), 0)), c.mean, c.do)
		}
	}
}

// recur makes an event come back while there is load.
func (w *world) recur(rng *rand.Rand, mean time.Duration, do func(*rand.Rand)) {
	w.kernel.in(time.Duration(rng.Int64N(int64(2*mean))), rng.Uint64(), func() {
		if w.running.Load() {
			do(rng)
			w.recur(rng, mean, do)
		}
	})
}

// someWorker picks a worker that lives.
func (w *world) someWorker(rng *rand.Rand) *workerHost {
	w.mu.Lock()
	defer w.mu.Unlock()
	var alive []*workerHost
	for _, h := range w.workers {
		if !h.gone() {
			alive = append(alive, h)
		}
	}
	if len(alive) == 0 {
		return nil
	}
	return alive[rng.IntN(len(alive))]
}

func (w *world) crashOne(rng *rand.Rand) {
	if h := w.someWorker(rng); h != nil {
		w.crash(h)
	}
}

// freezeOne makes a zombie, sometimes for longer than its leases last.
func (w *world) freezeOne(rng *rand.Rand) {
	if h := w.someWorker(rng); h != nil {
		w.cover.Freezes++
		h.host.freeze(time.Duration(rng.Int64N(int64(5 * lease / 2))))
	}
}

func (w *world) dropOne(rng *rand.Rand) {
	if h := w.someWorker(rng); h != nil {
		h.host.drop()
	}
}

// loading makes every command fail for a while, as a server does that starts.
func (w *world) loading(rng *rand.Rand) {
	w.cover.Errors++
	texts := []string{"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.", "BUSY Redis is busy running a script."}
	w.net.refuse.setTrouble(texts[rng.IntN(len(texts))])
	w.kernel.in(time.Duration(rng.Int64N(int64(2*time.Second))), rng.Uint64(), func() { w.net.refuse.setTrouble("") })
}

func (w *world) fillUp(rng *rand.Rand) {
	w.net.refuse.setFull(true)
	w.kernel.in(time.Duration(rng.Int64N(int64(3*time.Second))), rng.Uint64(), func() { w.net.refuse.setFull(false) })
}

// flushScripts makes the server forget the scripts.
func (w *world) flushScripts(rng *rand.Rand) {
	w.cover.Flushes++
	m := &message{raw: []byte("*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n"), args: []string{"SCRIPT", "FLUSH"}, key: rng.Uint64()}
	w.net.orphan("nemesis", m, 1)
}

// jump moves the server's clock, for good: mostly a little, now and then a lot.
func (w *world) jump(rng *rand.Rand) {
	w.cover.Jumps++
	d := time.Duration(rng.Int64N(int64(4*time.Second))) - 2*time.Second
	if rng.IntN(4) == 0 {
		d *= 30
	}
	w.clock.jump(d)
}

func (w *world) stopOne(rng *rand.Rand) {
	if h := w.someWorker(rng); h != nil {
		h.stop()
	}
}
