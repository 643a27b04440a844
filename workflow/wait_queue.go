package workflow

import "github.com/cyclone-queue/cyclone/internal/wire"

// placeWaits gives each wait without a queue that of the first node that depends
// on it, else that of the first one that it depends on, else the default one. It
// changes elements of nodes and nothing that they share with others.
func placeWaits(nodes []wire.RunNode) {
	queues, waits := make([]string, len(nodes)), false
	for i := range nodes {
		queues[i] = ownQueue(&nodes[i])
		waits = waits || queues[i] == ""
	}
	if !waits {
		return
	}
	// Dependents come behind, so that theirs are known when they are asked from the
	// last to the first; the first one has the last word.
	wanted := make([]string, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		if queues[i] == "" {
			queues[i] = wanted[i]
		}
		if queues[i] == "" {
			continue
		}
		for _, d := range nodes[i].Deps {
			wanted[d] = queues[i]
		}
	}
	for i := range nodes {
		for _, d := range nodes[i].Deps {
			if queues[i] == "" {
				queues[i] = queues[d]
			}
		}
		if queues[i] == "" {
			queues[i] = wire.DefaultQueue
		}
		if nodes[i].Def == nil {
			nodes[i].Options.Set |= wire.FieldQueue
			nodes[i].Options.Queue = queues[i]
		}
	}
}

// ownQueue is the queue that a node has by itself, "" for a wait that is not given
// one.
func ownQueue(n *wire.RunNode) string {
	switch {
	case n.Options.Set.Has(wire.FieldQueue):
		return n.Options.Queue
	case n.Def == nil:
		return ""
	}
	return n.Def.Options.QueueName()
}
