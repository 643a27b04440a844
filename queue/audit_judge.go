package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
)

// auditTries is how often a suspect is looked at before it is a finding.
const auditTries = 3

// suspect is a step that did not fit.
type suspect struct {
	id     string
	step   StepID
	queues []string // where it can be
	before evidence
	places []auditIndex
	last   string // what was wrong at the last look
}

// evidence is what there is of a step beside its indexes.
type evidence struct {
	body, ghost string
	node        nodeMark
}

// judge looks again at the steps that do not fit; what stays wrong is a finding.
func (s *stepAudit) judge(ctx context.Context) error {
	var suspects []*suspect
	for id, step := range s.steps {
		if !step.fits() {
			suspects = append(suspects, s.suspect(id, step))
		}
	}
	slices.SortFunc(suspects, func(a, b *suspect) int { return strings.Compare(a.id, b.id) })
	for try := range auditTries {
		if len(suspects) == 0 {
			return nil
		}
		if err := s.gather(ctx, suspects); err != nil {
			return err
		}
		kept := suspects[:0]
		after, err := s.evidence(ctx, suspects)
		if err != nil {
			return err
		}
		for i, su := range suspects {
			if s.stillWrong(su, after[i], try == auditTries-1) {
				kept = append(kept, su)
			}
		}
		suspects = kept
	}
	return nil
}

// suspect names the queues where the step was seen or should be.
func (s *stepAudit) suspect(id StepID, step *auditStep) *suspect {
	su := &suspect{id: id.String(), step: id}
	add := func(n uint32) {
		if q := s.queues[n]; !slices.Contains(su.queues, q) {
			su.queues = append(su.queues, q)
		}
	}
	if step.readable {
		add(step.queue)
	}
	for i := range min(step.live+step.indexed, 2) {
		add(step.seen[i])
	}
	if len(su.queues) == 0 {
		su.queues = s.queues
	}
	return su
}

// gather finds out where the suspects are now.
func (s *stepAudit) gather(ctx context.Context, suspects []*suspect) error {
	before, err := s.evidence(ctx, suspects)
	if err != nil {
		return err
	}
	byQueue := make(map[string]map[string]*suspect)
	for i, su := range suspects {
		su.before, su.places = before[i], nil
		for _, q := range su.queues {
			if byQueue[q] == nil {
				byQueue[q] = make(map[string]*suspect)
			}
			byQueue[q][su.id] = su
		}
	}
	for queue, ids := range byQueue {
		for _, in := range s.p.keys.queue(queue).all() {
			if err := s.find(ctx, in, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// find adds an index to the places of the suspects that are in it.
func (s *stepAudit) find(ctx context.Context, in auditIndex, ids map[string]*suspect) error {
	rdb := s.p.client.rdb
	if in.live {
		seen := make(map[string]bool) // a renewed lease can come twice
		return s.index(ctx, rdb, in.key, in.list, func(page []entry) error {
			for _, e := range page {
				if su := ids[e.id]; su != nil && (in.list || !seen[e.member]) {
					seen[e.member] = true
					su.places = append(su.places, in)
				}
			}
			return nil
		})
	}
	all := make([]string, 0, len(ids))
	for id := range ids {
		all = append(all, id)
	}
	for batch := range slices.Chunk(all, auditPage) {
		scores := make([]*redis.FloatCmd, len(batch))
		pipe := rdb.Pipeline()
		for i, id := range batch {
			scores[i] = pipe.ZScore(ctx, in.key, id)
		}
		_, _ = pipe.Exec(ctx) // each command carries its own error
		for i, id := range batch {
			err := scores[i].Err()
			if err == nil {
				ids[id].places = append(ids[id].places, in)
			} else if !errors.Is(err, redis.Nil) {
				return err
			}
		}
	}
	return nil
}

// evidence reads bodies and ghosts.
func (s *stepAudit) evidence(ctx context.Context, suspects []*suspect) ([]evidence, error) {
	all := make([]evidence, 0, len(suspects))
	for batch := range slices.Chunk(suspects, auditBodies) {
		ids := make([]string, len(batch))
		for i, su := range batch {
			ids[i] = su.id
		}
		pipe := s.p.client.rdb.Pipeline()
		bodies := pipe.HMGet(ctx, s.p.keys.steps(), ids...)
		ghosts := pipe.HMGet(ctx, s.p.keys.ghosts(), ids...)
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
		nodes, err := s.p.nodeMarks(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, body := range stringsOf(bodies.Val()) {
			ghost, _ := ghosts.Val()[i].(string)
			all = append(all, evidence{body, ghost, nodes[i]})
		}
	}
	return all, nil
}

// stillWrong judges a suspect. While its evidence changes, and until the same thing
// is wrong twice in a row, it stays one.
func (s *stepAudit) stillWrong(su *suspect, after evidence, final bool) bool {
	if su.before != after {
		su.last = ""
		return true
	}
	f := s.verdict(su)
	if f == nil {
		return false
	}
	same := su.last == f.Text
	su.last = f.Text
	if final && same {
		s.found(*f)
	}
	return true
}

// verdict says what is wrong with a suspect, nil for nothing.
func (s *stepAudit) verdict(su *suspect) *Finding {
	var live, indexed []string
	cancelled := false
	for _, in := range su.places {
		if in.live {
			live = append(live, in.key)
		} else {
			indexed = append(indexed, in.key)
			cancelled = in.state == cyclone.StepCancelled
		}
	}
	places := slices.Concat(live, indexed)
	wrong := func(rule, format string, args ...any) *Finding {
		f := &Finding{Rule: rule, Key: s.p.keys.steps(), Member: su.id, Text: fmt.Sprintf(format, args...)}
		if len(places) > 0 {
			f.Key = places[0]
		}
		return f
	}
	mark, _ := cutMark(su.before.ghost)
	body := su.before.body != ""
	if node := su.before.node; node != nodeNone && node != nodeLive {
		if text := node.wrong(body, mark, live, indexed); text != "" {
			return wrong("node", "%s", text)
		}
		return nil
	}
	switch {
	case mark == "" && !body && len(places) > 0:
		return wrong("body", "it is in %s and has no body", strings.Join(places, " and "))
	case mark == "" && body && len(places) == 0:
		return wrong("one index", "it is in no index")
	case mark == "" && body && len(places) > 1:
		return wrong("one index", "it is in %s", strings.Join(places, " and "))
	case mark != "" && len(live) == 0:
		return wrong("ghost", "it is marked %q, and neither ready nor leased", su.before.ghost)
	case mark != "" && len(live) > 1:
		return wrong("ghost", "it is marked %q, and in %s", su.before.ghost, strings.Join(live, " and "))
	case mark == ghostDropped && body && (len(indexed) != 1 || !cancelled):
		return wrong("ghost", "it is marked %q, and not cancelled", su.before.ghost)
	case mark == ghostDropped && !body && len(indexed) > 0:
		return wrong("body", "it is in %s and has no body", strings.Join(indexed, " and "))
	case mark == ghostRevived && (!body || len(indexed) > 0):
		return wrong("ghost", "it is marked %q, and not just ready", su.before.ghost)
	}
	var env Envelope
	if body && env.Decode([]byte(su.before.body)) == nil {
		for _, in := range su.places {
			if !slices.ContainsFunc(s.p.keys.queue(env.Queue).all(), func(own auditIndex) bool { return own.key == in.key }) {
				return wrong("queue", "its body says that it is of queue %s", env.Queue)
			}
		}
	}
	return nil
}
