package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cyclone-queue/cyclone"
)

// Awaited tells, by node, for which signals the waiting steps of a run wait, and for
// the end of which recorded child runs, which are `name#use`. A node that does not
// wait for a signal is not in it. It is meant for operators: it reads through all
// fields of the run.
func (c *Client) Awaited(ctx context.Context, id cyclone.RunID) (map[string][]string, error) {
	s, err := c.look(ctx, id)
	if err != nil {
		return nil, err
	}
	var names map[string][]string
	if s.many {
		names, err = c.awaitedByNodes(ctx, s)
	} else if names, err = s.part.awaited(ctx, s.part.keys.journal(s.text)); err == nil {
		names = map[string][]string{s.env.Node: names[s.text]}
	}
	if err != nil {
		return nil, fmt.Errorf("queue: what run %v waits for: %w", id, err)
	}
	return names, nil
}

func (c *Client) awaitedByNodes(ctx context.Context, s *stored) (map[string][]string, error) {
	graph, err := graphOf(s.env)
	if err != nil {
		return nil, err
	}
	members, err := s.part.awaited(ctx, s.part.keys.run(s.text))
	if err != nil {
		return nil, err
	}
	nodes := make(map[string][]string, len(members))
	for member, names := range members {
		if id, ok := parseStepID(member); ok && id.Node > 0 && id.Node <= len(graph.Nodes) {
			nodes[graph.Nodes[id.Node-1].Name] = names
		}
	}
	return nodes, nil
}

// awaited returns the signals that are waited for, by the stored id of who waits.
func (p *partition) awaited(ctx context.Context, signals string) (map[string][]string, error) {
	const waiters = "gw:"
	found := make(map[string][]string)
	for cursor := uint64(0); ; {
		fields, next, err := p.client.rdb.HScan(ctx, signals, cursor, waiters+"*", scanCount).Result()
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			name := strings.TrimPrefix(fields[i], waiters)
			for line := range strings.SplitSeq(fields[i+1], ";") {
				if member, _, ok := strings.Cut(line, " "); ok && !slices.Contains(found[member], name) {
					found[member] = append(found[member], name)
				}
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for member := range found {
		slices.Sort(found[member])
	}
	return found, nil
}
