package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
)

// nodeMark is how a step that belongs to a run of many stands, as its run has it.
type nodeMark byte

const (
	nodeNone      nodeMark = iota // it is a run of its own
	nodeLive                      // it is in an index, like a run of its own
	nodeBlocked                   // it has a body
	nodeCompleted                 // nothing is left of it but in the run
	nodeDiscarded                 // it has a body, and is in the discarded index, or neither
	nodeCancelled                 // it may have a body, and be a ghost
	nodeOrphan                    // its run does not know it
)

func markOf(n *dag.NodeState) nodeMark {
	switch {
	case n.Ended == dag.MarkCompleted:
		return nodeCompleted
	case n.Ended == dag.MarkDiscarded:
		return nodeDiscarded
	case n.Ended != dag.MarkNone:
		return nodeCancelled
	case n.Blocked:
		return nodeBlocked
	}
	return nodeLive
}

// nodes reads how the nodes of all runs stand, beside what their indexes say.
func (s *stepAudit) nodes(ctx context.Context) error {
	for id, step := range s.steps {
		if id.Node > 0 {
			step.node = nodeOrphan
		}
	}
	for _, id := range s.many {
		v, err := s.p.loadRun(ctx, id)
		if errors.Is(err, errNoRun) {
			continue
		}
		if err != nil {
			s.found(Finding{Rule: "run", Key: s.p.keys.run(id.String()), Text: err.Error()})
			continue
		}
		for i := range v.state.Nodes {
			at := StepID{Run: id, Node: i + 1}
			step, mark := s.steps[at], markOf(&v.state.Nodes[i])
			if step == nil {
				if mark == nodeCompleted || mark == nodeCancelled {
					continue
				}
				step = new(auditStep)
				s.steps[at] = step
			}
			step.node = mark
		}
		s.looked(len(v.state.Nodes))
	}
	return nil
}

// nodeFits is fits for a node that is not live.
func (s *auditStep) nodeFits() bool {
	var live, indexed []string
	for range s.live {
		live = append(live, "")
	}
	for range s.indexed {
		indexed = append(indexed, "")
	}
	mark := ""
	if s.mark != 0 {
		mark = string(rune(s.mark))
	}
	return !(s.body && !s.readable) && s.node.wrong(s.body, mark, live, indexed) == ""
}

// wrong says what is wrong with a node that is not live, "" for nothing. live and
// indexed are the indexes that it is in.
func (m nodeMark) wrong(body bool, ghost string, live, indexed []string) string {
	places := strings.Join(append(live[:len(live):len(live)], indexed...), " and ")
	// A ghost is where it was ready or running when it ended.
	haunts := ghost == ghostDropped && len(live) == 1 && len(indexed) == 0
	nowhere := ghost == "" && len(live)+len(indexed) == 0
	switch {
	case m == nodeOrphan && (body || !nowhere && !haunts):
		return "its run does not know it"
	case m == nodeBlocked && !body:
		return "it is blocked, and has no body"
	case m == nodeBlocked && !nowhere && !haunts:
		return "it is blocked, and in " + places
	case m == nodeCompleted && (body || !nowhere && !haunts):
		return "it is completed, and has a body or is in an index: " + places
	case m == nodeCancelled && !nowhere && !haunts:
		return "it is cancelled, and in " + places
	case m == nodeDiscarded && !body && nowhere: // it was one of too many
	case m == nodeDiscarded && !body:
		return "it is discarded, has no body, and is in " + places
	case m == nodeDiscarded && (len(indexed) != 1 || len(live) > 1 || ghost == "" && len(live) > 0):
		return "it is discarded, and in " + places
	}
	return ""
}

// nodeMarks returns how those of the suspects that are nodes stand.
func (p *partition) nodeMarks(ctx context.Context, batch []*suspect) ([]nodeMark, error) {
	cmds := make([]*redis.SliceCmd, len(batch))
	pipe := p.client.rdb.Pipeline()
	for i, su := range batch {
		if su.step.Node > 0 {
			n := su.step.Node - 1
			cmds[i] = pipe.HMGet(ctx, p.keys.run(su.step.Run.String()), endedField(n), blockedField(n), "st", "need")
		}
	}
	if pipe.Len() > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
	}
	marks := make([]nodeMark, len(batch))
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		found := stringsOf(cmd.Val())
		state, err := nodeState(found[0], found[1])
		switch {
		case err != nil || found[2] == "" && found[3] == "":
			marks[i] = nodeOrphan
		case found[2] == "":
			marks[i] = nodeBlocked // its run is being built
		default:
			marks[i] = markOf(&state)
		}
	}
	return marks, nil
}

// runs checks that each run is where its graph demands it to be, or that somebody
// will see to it.
func (s *stepAudit) runs(ctx context.Context, p *partition) error {
	for _, id := range s.many {
		key := p.keys.run(id.String())
		if err := s.verify(ctx, "run", key, []string{id.String()}, p.wrongRuns); err != nil {
			return err
		}
	}
	return nil
}

func (p *partition) wrongRuns(ctx context.Context, ids []string) (map[string]string, error) {
	wrong := make(map[string]string)
	for _, text := range ids {
		id, err := cyclone.ParseRunID(text)
		if err != nil {
			return nil, err
		}
		reason, err := p.wrongRun(ctx, id)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			wrong[text] = reason
		}
	}
	return wrong, nil
}

// wrongRun says what is wrong with a run, "" for nothing.
func (p *partition) wrongRun(ctx context.Context, id cyclone.RunID) (string, error) {
	rdb, text := p.client.rdb, id.String()
	v, err := p.loadRun(ctx, id)
	if errors.Is(err, errNoRun) {
		there, err := inHash(ctx, rdb, p.keys.steps(), []string{text})
		if err != nil || !there[0] {
			return "", err
		}
		for _, key := range []string{p.keys.building(), p.keys.runs()} {
			if known, err := inSet(ctx, rdb, key, []string{text}); err != nil || known[0] {
				return "", err
			}
		}
		return "it has no state, and nobody builds or removes it", nil
	}
	if err != nil {
		return "", err
	}
	if err := v.readBodies(ctx); err != nil {
		return "", err
	}
	swept, err := rdb.ZScore(ctx, p.keys.sweep(), text).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", err
	}
	onSweep := err == nil && int64(swept) <= v.nowMS+2*sweepHold.Milliseconds()
	kept, err := inSet(ctx, rdb, p.keys.runs(), []string{text})
	if err != nil {
		return "", err
	}
	return v.wrong(onSweep, kept[0]), nil
}

func (v *runView) wrong(onSweep, kept bool) string {
	left := 0
	for i := range v.state.Nodes {
		if v.state.Nodes[i].Ended == dag.MarkNone {
			left++
		}
	}
	ended := v.state.Run.Ended()
	switch {
	case left != v.left:
		return fmt.Sprintf("%d nodes have not ended, and it counts %d", left, v.left)
	case ended && left > 0:
		return fmt.Sprintf("it has ended with %d nodes that have not", left)
	case ended != kept:
		return fmt.Sprintf("it has ended: %v, and is among those that are kept: %v", ended, kept)
	}
	if ops := dag.Plan(v.graph, &v.state); len(ops) > 0 && !onSweep {
		return fmt.Sprintf("%d operations are due, and nobody will do them", len(ops))
	}
	return ""
}

// sweepLate is how long an item of the sweep may be due.
const sweepLate = 10 * time.Minute

// sweeps checks that the work of the sweep is done.
func (a *audit) sweeps(ctx context.Context, p *partition) error {
	rdb, key := p.client.rdb, p.keys.sweep()
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	late, err := rdb.ZRangeByScore(ctx, key, &redis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatInt(now.Add(-sweepLate).UnixMilli(), 10), Count: maxFindings,
	}).Result()
	if err != nil {
		return err
	}
	a.looked(len(late))
	for _, item := range late {
		a.found(Finding{Rule: "sweep", Key: key, Member: item, Text: "it is due, and no worker does it"})
	}
	return nil
}

// orphans checks that there are no keys of runs and journals of which nothing else
// knows.
func (a *audit) orphans(ctx context.Context, p *partition) error {
	node, err := p.node(ctx)
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		stem, text string
		known      func(context.Context, []string) ([]bool, error)
	}{
		{p.keys.run(""), "there is no such run", func(ctx context.Context, ids []string) ([]bool, error) {
			return inHash(ctx, p.client.rdb, p.keys.steps(), ids)
		}},
		{p.keys.journal(""), "it is not on the list of journals", func(ctx context.Context, ids []string) ([]bool, error) {
			return inSet(ctx, p.client.rdb, p.keys.journals(), ids)
		}},
	} {
		there := func(ctx context.Context, ids []string) ([]bool, error) {
			return has(ctx, p.client.rdb, ids, func(pipe redis.Pipeliner, id string) redis.Cmder {
				return pipe.HLen(ctx, kind.stem+id)
			})
		}
		wrong := inFirstOnly(kind.text, kind.known, there)
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, kind.stem+"*", auditPage).Result()
			if redis.HasErrorPrefix(err, "NOPERM") {
				a.report.NotLooked = "keys of runs and tasks that nothing else knows of: this account may not SCAN"
				return nil
			}
			if err != nil {
				return err
			}
			a.looked(len(keys))
			for i := range keys {
				keys[i] = strings.TrimPrefix(keys[i], kind.stem)
			}
			if err := a.verify(ctx, "orphan", kind.stem, keys, wrong); err != nil {
				return err
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return nil
}
