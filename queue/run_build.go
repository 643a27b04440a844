package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

const (
	// buildNodes is how many nodes one script call stores; a run that has more is
	// stored in several calls.
	buildNodes = 400
	// buildExpiry is when a run that is stored in several calls is given up, if no
	// call has come for so long.
	buildExpiry = 10 * time.Minute
	// buildFlight is how many calls may be under way on one partition, and buildEager how
	// many runs must be waiting before another one is sent.
	buildFlight, buildEager = 2, 40
)

// buildSender makes the calls.
type buildSender struct {
	p      *partition
	lane   *lane
	input  luascripts.BuildInput
	detail detail

	expected []starter // whose events are held, where somebody listens
}

// announce puts the queues of all nodes on the partition's list: children are made
// ready by scripts.
func (s *buildSender) announce(batch []*runItem) error {
	var names []string
	for _, it := range batch {
		names = append(names, it.queues...)
	}
	return s.p.announceQueues(context.Background(), names)
}

// send stores runs that fit into one call together.
func (s *buildSender) send(batch []*runItem) {
	defer s.release()
	ids := make([]int64, len(batch))
	replicas := 0
	for _, it := range batch {
		replicas = max(replicas, it.replicas)
	}
	answer, confirmed, err := s.call(len(batch), replicas, func(next func() int64) {
		s.reset()
		for i, it := range batch {
			ids[i] = next()
			run := s.newRun(it, ids[i], luascripts.BuildWhole)
			if it.held {
				run.Phase = luascripts.BuildOpen
			} else {
				s.begin(it, &run)
			}
			s.bodies(it, &run, 0, len(it.nodes))
			s.input.Runs = append(s.input.Runs, run)
		}
	})
	if err != nil {
		fail(batch, err)
		return
	}
	for i, it := range batch {
		it.stored(ids[i], confirmed)
	}
	for _, refused := range answer.Refused {
		batch[refused.Run].refuse(refused)
	}
	for _, it := range batch {
		s.tell(it, answer.NowMS)
		it.ticket.settle(1)
	}
}

// stored notes the id of a run that is built, unless it turns out to be refused.
func (it *runItem) stored(id int64, confirmed bool) {
	it.receipt.ID = cyclone.RunID(id)
	if it.replicas > 0 && !confirmed {
		it.receipt.Err = fmt.Errorf("%w: the workflow is stored as run %d", cyclone.ErrNotReplicated, id)
	}
}

// refuse reads why the run was not built.
func (it *runItem) refuse(r luascripts.BuildRefusal) {
	if r.Reason != luascripts.BuildHeld {
		*it.receipt = cyclone.Receipt{Err: fmt.Errorf("workflow %s: building it was given up: %s", it.name, r.Reason)}
		return
	}
	n, _ := strconv.ParseInt(r.Holder, 10, 64)
	holder := cyclone.RunID(n)
	if it.conflict == wire.ConflictReject {
		*it.receipt = cyclone.Receipt{Err: &cyclone.DuplicateError{Key: it.key, Holder: holder}}
		return
	}
	*it.receipt = cyclone.Receipt{ID: holder, Existing: true}
}

func (s *buildSender) reset() {
	s.input.Queues, s.input.Runs = s.input.Queues[:0], s.input.Runs[:0]
	s.detail.reset()
}

func (s *buildSender) newRun(it *runItem, id int64, phase luascripts.BuildPhase) luascripts.BuildRun {
	text := strconv.FormatInt(id, 10)
	run := luascripts.BuildRun{
		Key: s.p.keys.run(text), ID: text, Phase: phase, ExpiryMS: buildExpiry.Milliseconds(),
		Up: it.parent.text(), Digest: it.digest, ScopeMS: it.scopeMS,
	}
	if phase == luascripts.BuildWhole || phase == luascripts.BuildOpen {
		run.Graph, run.Nodes, run.KeepMS = it.graph, len(it.nodes), it.keepMS
	}
	return run
}

// begin adds what the run starts with. tell hears of each node that starts; nil for
// nobody.
func (it *runItem) begin(run *luascripts.BuildRun, queue func(name string) int, tell func(*runNode)) {
	run.Deadline = it.deadline
	if run.Sweep = it.swept; it.swept {
		return // they stand among the blocked ones
	}
	for i := range it.nodes {
		n := &it.nodes[i]
		if n.deps > 0 {
			continue
		}
		run.Roots = append(run.Roots, luascripts.BuildRoot{
			Queue: queue(it.queues[n.queue]), Lane: n.lane, Node: i, Due: n.due,
		})
		if tell != nil {
			tell(n)
		}
	}
}

// begin adds what the run starts with, and describes it.
func (s *buildSender) begin(it *runItem, run *luascripts.BuildRun) {
	it.begin(run, s.queue, func(n *runNode) { s.detail.add(n.kind, n.name, 1, "", "") })
}

// bodies adds some of the nodes.
func (s *buildSender) bodies(it *runItem, run *luascripts.BuildRun, from, to int) {
	for i := from; i < to; i++ {
		n := &it.nodes[i]
		run.Bodies = append(run.Bodies, luascripts.BuildBody{Member: memberOf(run.ID, i), Body: n.body})
		if n.deps > 0 || it.swept {
			run.Blocked = append(run.Blocked, luascripts.BuildBlocked{Field: "d" + strconv.Itoa(i), Count: n.deps})
		}
	}
}

func (s *buildSender) queue(name string) int {
	for i := range s.input.Queues {
		if s.input.Queues[i].Name == name {
			return i
		}
	}
	k := s.p.keys.queue(name)
	s.input.Queues = append(s.input.Queues, luascripts.EnqueueQueue{Name: name, Scheduled: k.scheduled, Waiters: k.waiters, Ready: k.ready})
	return len(s.input.Queues) - 1
}

// call makes one call, which takes so many ids from the lane's block; fill writes it.
// It tells whether so many replicas have confirmed it.
func (s *buildSender) call(ids, replicas int, fill func(next func() int64)) (answer luascripts.BuildReply, confirmed bool, err error) {
	p := s.p
	partitions := int64(len(p.client.space.Load().parts))
	for {
		if s.lane.void {
			s.lane = p.enqueues.lanes.take()
		}
		if s.lane.ids.len() < ids {
			if err := s.block(ids); err != nil {
				if errors.Is(err, errLaneVoid) {
					continue
				}
				return answer, false, err
			}
			continue
		}
		fill(func() int64 {
			id := s.lane.ids.next*partitions + int64(p.number)
			s.lane.ids.next++
			return id
		})
		t := tries{budget: p.client.cfg.ResendFor, replicas: replicas}
		reply, err := s.session(&t)
		if errors.Is(err, errLaneVoid) {
			continue
		}
		if err != nil {
			return answer, false, err
		}
		return luascripts.ParseBuild(reply), t.acks >= replicas, nil
	}
}

// block asks for ids without building anything.
func (s *buildSender) block(ids int) error {
	s.reset()
	s.input.Block = int64(max(blockAhead, 4*ids))
	defer func() { s.input.Block = 0 }()
	reply, err := s.session(&tries{budget: s.p.client.cfg.ResendFor})
	if err != nil {
		return err
	}
	first := luascripts.ParseBuild(reply).First
	s.lane.ids = idBlock{next: first, end: first + s.input.Block}
	return nil
}

// expect holds the events of the runs of the call that is about to be sent, until
// release: theirs come first.
func (s *buildSender) expect() {
	s.release()
	ids := make([]int64, len(s.input.Runs))
	for i := range s.input.Runs {
		ids[i], _ = strconv.ParseInt(s.input.Runs[i].ID, 10, 64)
	}
	s.expected = startersOf(ids)
	s.p.client.firsts.expect(s.expected)
}

func (s *buildSender) release() {
	s.p.client.firsts.release(s.expected, s.p.client.tell)
	s.expected = nil
}

// session sends the call as it is filled.
func (s *buildSender) session(t *tries) ([]any, error) {
	p, in := s.p, &s.input
	if p.client.hasListeners() {
		s.expect()
	}
	in.MaxBytes = max(p.client.maxBody(), maxGraph)
	in.Channels, in.Partition, in.Detail = p.channels(), p.number, s.detail.bytes()
	k := p.keys
	var call luascripts.Call
	luascripts.BuildCall(&call, &luascripts.BuildKeys{
		Steps: k.steps(), Sess: k.sess(), Uniq: k.uniq(), UniqOf: k.uniqof(), UniqX: k.uniqx(), IDs: k.ids(),
		Subs: k.subs(), Stats: k.stats(), Paused: k.paused(), Sweep: k.sweep(), Building: k.building(),
	}, in)
	reply, err := p.session(context.Background(), s.lane, luascripts.Build, &call, t)
	if errors.Is(err, errIDsLost) {
		if err := p.restoreIDs(p.client.life); err != nil {
			return nil, fmt.Errorf("queue: restore the counter of ids: %w", refine(err))
		}
		return nil, errLaneVoid
	}
	return reply, refine(err)
}

// tell passes the events of a new run to the process's own listeners.
func (s *buildSender) tell(it *runItem, nowMS int64) {
	if !s.p.client.hasListeners() || it.held || it.receipt.Existing || it.receipt.ID == 0 {
		return
	}
	for i := range it.nodes {
		n := &it.nodes[i]
		if n.deps > 0 {
			continue
		}
		state := cyclone.StepReady
		if n.due != "" {
			state = cyclone.StepScheduled
		}
		s.p.client.tell(cyclone.StepEvent{
			Type: cyclone.EventEnqueued, RunID: it.receipt.ID, Node: n.name, Kind: n.kind, Queue: it.queues[n.queue],
			State: state, Attempt: 1, At: timeOf(nowMS),
		})
	}
}
