package queue

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
)

// stepAudit checks the steps of one partition: it collects what each id has, and
// judges it when all is collected.
type stepAudit struct {
	*audit
	p       *partition
	queues  []string          // the list of queues, and what else came up
	listed  int               // how many of them are on the list
	queueAt map[string]uint32 // index into queues
	steps   map[StepID]*auditStep
	many    []cyclone.RunID // runs of many steps
}

// auditStep is what one id has.
type auditStep struct {
	body, readable bool
	node           nodeMark // of a run of many steps, as its run has it
	mark           byte     // of its ghost, 0 for none
	live, indexed  uint8
	cancelled      bool   // that is what it is indexed as
	queue          uint32 // of the body
	seen           [2]uint32
}

// fits is the first judgement, which what moves may fail.
func (s *auditStep) fits() bool {
	places := s.live + s.indexed
	switch {
	case s.node != nodeNone && s.node != nodeLive:
		return s.nodeFits()
	case s.body && s.readable && places > 0 && s.seen[0] != s.queue:
		return false
	case s.mark == 0:
		return s.body && places == 1
	case s.mark == ghostDropped[0]:
		return s.live == 1 && (s.body && s.indexed == 1 && s.cancelled || !s.body && s.indexed == 0)
	}
	return s.body && s.live == 1 && s.indexed == 0
}

// of returns the entry of an id. What is no id cannot move, so it is a finding at
// once.
func (s *stepAudit) of(key, id string) *auditStep {
	n, ok := parseStepID(id)
	if !ok {
		s.found(Finding{Rule: "body", Key: key, Member: id, Text: "it is not the id of a step"})
		return nil
	}
	step := s.steps[n]
	if step == nil {
		step = new(auditStep)
		s.steps[n] = step
	}
	return step
}

// number returns the index of a queue, which is noted if it is new.
func (s *stepAudit) number(queue string) uint32 {
	n, ok := s.queueAt[queue]
	if !ok {
		n = uint32(len(s.queues))
		s.queues, s.queueAt[queue] = append(s.queues, queue), n
	}
	return n
}

func (s *stepAudit) bodies(ctx context.Context) error {
	names, err := s.p.queueNames(ctx)
	if err != nil {
		return err
	}
	for _, q := range names {
		s.number(q)
	}
	s.listed = len(names)
	key := s.p.keys.steps()
	return s.hash(ctx, s.p.client.rdb, key, auditBodies, func(pairs []string) error {
		for i := 0; i < len(pairs); i += 2 {
			step := s.of(key, pairs[i])
			if step == nil || step.body {
				continue
			}
			var env Envelope
			err := env.Decode([]byte(pairs[i+1]))
			if id, ok := parseStepID(pairs[i]); ok && err == nil && env.Codec == codecGraph {
				s.many = append(s.many, id.Run)
				delete(s.steps, id)
				continue
			}
			s.report.Steps++
			if step.body, step.readable = true, err == nil; step.readable {
				step.queue = s.number(env.Queue)
				continue
			}
			s.found(Finding{Rule: "readable", Key: key, Member: pairs[i], Text: err.Error()})
		}
		return nil
	})
}

func (s *stepAudit) ghosts(ctx context.Context) error {
	key := s.p.keys.ghosts()
	return s.hash(ctx, s.p.client.rdb, key, auditPage, func(pairs []string) error {
		for i := 0; i < len(pairs); i += 2 {
			mark, queue := cutMark(pairs[i+1])
			if mark != ghostDropped && mark != ghostRevived || queue == "" {
				s.found(Finding{Rule: "ghost", Key: key, Member: pairs[i], Text: fmt.Sprintf("its mark is %.80q", pairs[i+1])})
				continue
			}
			s.number(queue)
			if step := s.of(key, pairs[i]); step != nil {
				step.mark = mark[0]
			}
		}
		return nil
	})
}

// indexes reads the indexes of all queues, those that only a body or a ghost named
// included.
func (s *stepAudit) indexes(ctx context.Context) error {
	for n, queue := range s.queues {
		if n >= s.listed {
			if err := s.unlisted(ctx, queue); err != nil {
				return err
			}
		}
		for _, in := range s.p.keys.queue(queue).all() {
			err := s.index(ctx, s.p.client.rdb, in.key, in.list, func(page []entry) error {
				for _, e := range page {
					s.note(&in, e, uint32(n))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stepAudit) note(in *auditIndex, e entry, queue uint32) {
	if text := in.badScore(e.score); text != "" {
		s.found(Finding{Rule: "score", Key: in.key, Member: e.member, Text: text})
	}
	step := s.of(in.key, e.id)
	if step == nil {
		return
	}
	step.seen[min(step.live+step.indexed, 1)] = queue
	if in.live {
		step.live++
	} else {
		step.indexed++
		step.cancelled = in.state == cyclone.StepCancelled
	}
}

// unlisted reports a queue that inspection cannot know of.
func (s *stepAudit) unlisted(ctx context.Context, queue string) error {
	listed, err := s.p.client.rdb.HExists(ctx, s.p.keys.queues(), queue).Result()
	if err == nil && !listed {
		s.found(Finding{Rule: "queue list", Key: s.p.keys.queues(), Member: queue, Text: "there are steps of this queue, but it is not on the list"})
	}
	return err
}

// auditIndex is one index of a queue.
type auditIndex struct {
	key   string
	state cyclone.StepState
	list  bool
	live  bool // its steps are ready or running: ghosts can be in it
}

func (k *queueKeys) all() []auditIndex {
	var all []auditIndex
	for _, state := range visited {
		switch state {
		case cyclone.StepReady:
			for _, key := range k.ready {
				all = append(all, auditIndex{key: key, state: state, list: true, live: true})
			}
		case cyclone.StepRunning:
			all = append(all, auditIndex{key: k.leased, state: state, live: true})
		default:
			all = append(all, auditIndex{key: k.index(state), state: state})
		}
	}
	return all
}

// badScore says what is wrong with a score, "" for nothing.
func (in *auditIndex) badScore(score int64) string {
	switch in.state {
	case cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting:
		if lane := score % scoreUnit; score <= 0 || lane >= laneCount {
			return fmt.Sprintf("the score %d has no lane", score)
		}
	case cyclone.StepRunning:
		if lane := score % scoreUnit / 2; score <= 0 || lane >= laneCount {
			return fmt.Sprintf("the score %d has no lane", score)
		}
	}
	return ""
}
