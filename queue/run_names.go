package queue

import (
	"context"
	"slices"
	"sync"

	"github.com/cyclone-queue/cyclone"
)

// runNames are the names that events of a run of many steps carry.
type runNames struct {
	kind  string // of the run
	nodes []nodeName
}

type nodeName struct{ kind, node string }

// of is the name of a node by its index from 0, empty when there is none.
func (r *runNames) of(i int) nodeName {
	if r == nil || i < 0 || i >= len(r.nodes) {
		return nodeName{}
	}
	return r.nodes[i]
}

// knownNodes is how many nodes the names of known runs have in all, unless one run
// has more.
const knownNodes = 50_000

// knownRuns keeps the names of runs that the process works on, in a process that
// listens to its own events: the scripts tell indexes only.
type knownRuns struct {
	mu    sync.Mutex
	runs  map[cyclone.RunID]*runNames
	order []cyclone.RunID // the longest known first
	nodes int
}

// find returns the names of the runs, and reads those that are not known in one round
// trip. What cannot be read is not in the result.
func (k *knownRuns) find(ctx context.Context, p *partition, ids []cyclone.RunID) map[cyclone.RunID]*runNames {
	found := make(map[cyclone.RunID]*runNames, len(ids))
	var missing []cyclone.RunID
	k.mu.Lock()
	for _, id := range ids {
		if names := k.runs[id]; names != nil {
			found[id] = names
		} else if !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	k.mu.Unlock()
	if len(missing) == 0 {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, completeFor)
	defer cancel()
	fields := make([]string, len(missing))
	for i, id := range missing {
		fields[i] = id.String()
	}
	bodies, err := p.client.rdb.HMGet(ctx, p.keys.steps(), fields...).Result()
	if err != nil {
		return found
	}
	for i, body := range stringsOf(bodies) {
		if names := namesIn(body); names != nil {
			found[missing[i]] = names
			k.add(missing[i], names)
		}
	}
	return found
}

// namesIn reads the body of a run, nil when it is none of many steps.
func namesIn(body string) *runNames {
	var env Envelope
	if env.Decode([]byte(body)) != nil || env.Codec != codecGraph {
		return nil
	}
	g, err := graphOf(&env)
	if err != nil {
		return nil
	}
	names := &runNames{kind: env.Kind, nodes: make([]nodeName, len(g.Nodes))}
	for i := range g.Nodes {
		names.nodes[i] = nodeName{g.Nodes[i].Kind, g.Nodes[i].Name}
	}
	return names
}

func (k *knownRuns) add(id cyclone.RunID, names *runNames) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil {
		k.runs = make(map[cyclone.RunID]*runNames)
	}
	if k.runs[id] == nil {
		k.order = append(k.order, id)
		k.nodes += len(names.nodes)
	}
	k.runs[id] = names
	for k.nodes > knownNodes && len(k.order) > 1 {
		k.nodes -= len(k.runs[k.order[0]].nodes)
		delete(k.runs, k.order[0])
		k.order = k.order[1:]
	}
}
