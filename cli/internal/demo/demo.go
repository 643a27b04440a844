package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Config says how to run a demo.
type Config struct {
	Client *queue.Client
	Length time.Duration
	// Where describes the server in a few words.
	Where string
	// Worker returns the command of another process that calls [Work] with the
	// plan, on the same deployment. Without it nobody is killed.
	Worker func(Plan) *exec.Cmd
	// Out gets the view: drawn again and again when Live is set, else as lines.
	Out   io.Writer
	Live  bool
	Paint terminal.Painter
	// Event, if set, gets each event instead, and nothing is shown.
	Event func(cyclone.StepEvent)
}

// stage is a demo that is running.
type stage struct {
	cfg    Config
	plan   Plan
	jobs   *jobs
	tally  *tally
	cast   cast
	view   view
	main   *worker.Worker
	other  *process // nil while there is none
	next   int      // of the chapters
	killed *Killed
	trouble
}

// eventBuffer holds events while the view draws.
const eventBuffer = 4096

// frameEvery is how often the live view draws.
const frameEvery = 100 * time.Millisecond

// Run runs a demo to its end, or until ctx is done, and returns what happened.
func Run(ctx context.Context, cfg Config) (*Summary, error) {
	s := &stage{cfg: cfg}
	sub, err := cfg.Client.Subscribe(ctx, queue.EventFilter{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Close() }()
	s.plan = Plan{Start: time.Now(), Length: cfg.Length}
	s.jobs, s.tally = newJobs(s.plan), newTally(s.plan.Start)
	if s.main, err = newWorker(cfg.Client, s.jobs, mainSlots); err != nil {
		return nil, err
	}
	s.cast.add(member{id: s.main.ID(), pid: os.Getpid(), slots: mainSlots})
	if err := s.hire(); err != nil {
		return nil, err
	}
	defer s.dismiss()
	s.view = s.newView()
	defer s.view.close()
	events := make(chan cyclone.StepEvent, eventBuffer)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx)) // to hear of the workers' last steps
	defer stop()
	go s.read(reading, sub, events)
	if err := s.play(ctx, events); err != nil {
		return nil, err
	}
	s.view.close()
	return s.summary(context.WithoutCancel(ctx))
}

func (s *stage) newView() view {
	switch {
	case s.cfg.Event != nil:
		return silence(s.cfg.Event)
	case s.cfg.Live:
		return newLive(s.cfg.Out, s.cfg.Paint, s.plan, s.tally, &s.cast, s.cfg.Where)
	}
	return &plain{out: s.cfg.Out, paint: s.cfg.Paint, plan: s.plan, tally: s.tally}
}

// read passes events on until ctx is done.
func (s *stage) read(ctx context.Context, sub *queue.Subscription, events chan<- cyclone.StepEvent) {
	defer close(events)
	for e, err := range sub.Events(ctx) {
		switch {
		case errors.Is(err, queue.ErrLagged):
			s.tally.missedSome()
			continue
		case err != nil:
			s.note(err)
			return
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return
		}
	}
}

// play runs the workers and the shop and shows what happens, until everything is
// finished after the shop has closed, or the time is over.
func (s *stage) play(ctx context.Context, events <-chan cyclone.StepEvent) error {
	ctx, cancel := context.WithDeadline(ctx, s.plan.at(1))
	defer cancel()
	working := make(chan struct{})
	go func() {
		defer close(working)
		s.note(s.main.Run(ctx))
	}()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		shop := &shop{plan: s.plan, jobs: s.jobs, client: s.cfg.Client, dice: rand.New(rand.NewPCG(1, 2))}
		s.note(shop.run(ctx))
	}()
	ticker := time.NewTicker(frameEvery)
	defer ticker.Stop()
	for ctx.Err() == nil && s.err() == nil {
		select {
		case e := <-events:
			s.show(e)
		case <-ticker.C:
			s.chapters(ctx)
			s.view.tick()
			if isClosed(closed) && s.tally.unfinished() == 0 {
				cancel()
			}
		case <-ctx.Done():
		}
	}
	cancel()
	s.dismiss()
	<-working
	<-closed
	s.rest(events)
	return s.err()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *stage) show(e cyclone.StepEvent) { s.view.event(e, s.tally.add(e)) }

// quietFor is how long no event must come before the last one is believed to
// have come.
const quietFor = 150 * time.Millisecond

// rest shows the events that are still on their way.
func (s *stage) rest(events <-chan cyclone.StepEvent) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			s.show(e)
		case <-time.After(quietFor):
			s.view.tick()
			return
		}
	}
}

// hire starts the other worker process.
func (s *stage) hire() error {
	if s.cfg.Worker == nil {
		return nil
	}
	p, err := spawn(s.cfg.Worker(s.plan))
	if err != nil {
		return err
	}
	s.other = p
	s.cast.add(member{id: p.id, pid: p.pid(), slots: otherSlots})
	return nil
}

// dismiss ends it softly.
func (s *stage) dismiss() {
	if s.other != nil {
		s.other.stop(s.plan.unit() + 2*time.Second)
		s.other = nil
	}
}

// chapters begins the chapters whose time has come.
func (s *stage) chapters(ctx context.Context) {
	for s.next < len(chapters) && !time.Now().Before(s.plan.at(chapters[s.next].share)) {
		c := chapters[s.next]
		c.at = time.Since(s.plan.Start)
		if !s.begin(ctx, c) {
			return // not yet
		}
		s.next++
	}
}

// begin does what a chapter is about and tells of it. It returns false when the
// moment is not good yet.
func (s *stage) begin(ctx context.Context, c chapter) bool {
	switch c.share {
	case workerKill:
		if s.cfg.Worker == nil {
			return true
		}
		running := s.tally.runningOn(s.other.id)
		if running < wanted && time.Now().Before(s.plan.at(workerKill+patience)) {
			return false
		}
		s.kill(running)
	case workerNew:
		if s.cfg.Worker == nil {
			return true
		}
		s.note(s.hire())
	case importerFix:
		s.note(s.repair(ctx))
	}
	s.view.chapter(c)
	return true
}

// A worker is killed when it runs as many steps, or when the story cannot wait
// any longer, as a share of the whole.
const (
	wanted   = 2
	patience = 0.06
)

func (s *stage) kill(running int) {
	pid := s.other.pid()
	s.other.kill()
	s.other = nil
	s.killed = &Killed{PID: pid, Worker: s.cast.kill(pid), Steps: running}
	s.tally.killed(time.Now())
}

// repair is what an operator does once the importer is fixed.
func (s *stage) repair(ctx context.Context) error {
	_, err := s.cfg.Client.RetryMatching(ctx, queue.Filter{
		State: cyclone.StepExhausted, Kind: s.jobs.row.Name(), ErrorContains: "is not YYYY-MM-DD",
	}, nil, cyclone.RetryReason("the importer reads DD.MM.YYYY now"))
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("demo: retry: %w", err)
	}
	return nil
}

// silence hands events on and shows nothing.
type silence func(cyclone.StepEvent)

func (silence) chapter(chapter)                     {}
func (v silence) event(e cyclone.StepEvent, _ step) { v(e) }
func (silence) tick()                               {}
func (silence) close()                              {}
