package dag

import (
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// version is that of the stored graph's layout.
const version = 1

// ErrVersion is returned when a graph is stored in a layout that this program
// does not know. It is not to be touched.
var ErrVersion = errors.New("dag: unknown version of a stored graph")

// The graph is a MessagePack array:
//
//	0 version  1 deadline ms  2 retention ms  3 result + 1
//	4 kinds, 5 queues: each text once   6 nodes
//
// A node is an array too, of which trailing elements are left out while they are
// zero. The first dependency is stored as its distance from the node and each
// further one as its distance from the one before: almost always one byte.
const (
	graphSlots = 7

	slotName     = 0 // empty: named like the kind
	slotKind     = 1 // index into kinds
	slotDeps     = 2
	slotFlags    = 3 // class, lane and policy
	slotQueue    = 4 // index into queues
	slotDelay    = 5
	slotStart    = 6
	slotAttempts = 7
	nodeSlots    = 8

	laneShift, policyShift = 2, 4
	fieldMask              = 3
	maxFlags               = 1<<6 - 1
)

// Append appends the graph as it is stored. The graph is one of [New] or [Decode].
func (g *Graph) Append(dst []byte) []byte {
	kinds, queues := newTable(), newTable()
	for i := range g.Nodes {
		kinds.add(g.Nodes[i].Kind)
		queues.add(g.Nodes[i].Queue)
	}
	dst = pack.AppendArray(dst, graphSlots)
	dst = pack.AppendInt(dst, version)
	dst = pack.AppendInt(dst, g.DeadlineMS)
	dst = pack.AppendInt(dst, g.RetentionMS)
	dst = pack.AppendInt(dst, int64(g.Result)+1)
	dst = kinds.append(dst)
	dst = queues.append(dst)
	dst = pack.AppendArray(dst, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		dst = n.append(dst, i, kinds.index[n.Kind], queues.index[n.Queue])
	}
	return dst
}

// append appends the node, whose place in the graph is index.
func (n *Node) append(dst []byte, index, kind, queue int) []byte {
	flags := int64(n.Class) | int64(n.Lane)<<laneShift | int64(n.OnDepFailure)<<policyShift
	tail := [...]int64{flags, int64(queue), n.DelayMS, n.StartMS, int64(n.MaxAttempts)}
	used := len(tail)
	for used > 0 && tail[used-1] == 0 {
		used--
	}
	name := n.Name
	if name == n.Kind {
		name = ""
	}
	dst = pack.AppendArray(dst, slotDeps+1+used)
	dst = pack.AppendString(dst, name)
	dst = pack.AppendInt(dst, int64(kind))
	dst = pack.AppendArray(dst, len(n.Deps))
	for k, d := range n.Deps {
		if k == 0 {
			dst = pack.AppendInt(dst, int64(index-d))
		} else {
			dst = pack.AppendInt(dst, int64(d-n.Deps[k-1]))
		}
	}
	for _, v := range tail[:used] {
		dst = pack.AppendInt(dst, v)
	}
	return dst
}

// table gives each distinct text a number.
type table struct {
	texts []string
	index map[string]int
}

func newTable() *table { return &table{index: make(map[string]int)} }

func (t *table) add(text string) {
	if _, known := t.index[text]; !known {
		t.index[text] = len(t.texts)
		t.texts = append(t.texts, text)
	}
}

func (t *table) append(dst []byte) []byte {
	dst = pack.AppendArray(dst, len(t.texts))
	for _, text := range t.texts {
		dst = pack.AppendString(dst, text)
	}
	return dst
}

// Decode reads a stored graph, which may be hostile: what it returns keeps every
// promise of Graph and Node, has names that are valid and distinct, and is within
// the limits. It returns [ErrVersion] for a layout of another program, and another
// error for anything else that Append does not write.
func Decode(b []byte) (*Graph, error) {
	r := pack.NewReader(b)
	slots := r.ArrayLen()
	if v := r.Int(); r.Err() == nil && v != version {
		return nil, fmt.Errorf("%w: %d", ErrVersion, v)
	}
	if slots != graphSlots {
		r.Refuse()
	}
	g := &Graph{DeadlineMS: readMS(&r), RetentionMS: readMS(&r)}
	g.Result = int(r.IntIn(0, wire.MaxNodes)) - 1
	kinds := readTable(&r, validKind)
	queues := readTable(&r, wire.ValidName)
	g.readNodes(&r, kinds, queues)
	if g.Result >= len(g.Nodes) {
		r.Refuse()
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("dag: stored graph: %w", err)
	}
	return g, nil
}

func (g *Graph) readNodes(r *pack.Reader, kinds, queues []string) {
	n := r.ArrayLen()
	if n < 1 || n > wire.MaxNodes {
		r.Refuse()
		return
	}
	g.Nodes = make([]Node, n)
	names := make(map[string]struct{}, n)
	edges := 0
	for i := range g.Nodes {
		node := &g.Nodes[i]
		node.read(r, i, kinds, queues, wire.MaxEdges-edges)
		edges += len(node.Deps)
		if _, twice := names[node.Name]; twice {
			r.Refuse()
		}
		if r.Err() != nil {
			return
		}
		names[node.Name] = struct{}{}
	}
}

// read reads the node whose place in the graph is index. It may have so many
// edges at most.
func (n *Node) read(r *pack.Reader, index int, kinds, queues []string, edges int) {
	slots := r.ArrayLen()
	if slots <= slotDeps || slots > nodeSlots {
		r.Refuse()
		return
	}
	n.Name = r.Text()
	n.Kind = textAt(r, kinds)
	if n.Name == "" {
		n.Name = n.Kind
	}
	if !wire.ValidName(n.Name) {
		r.Refuse()
	}
	n.readDeps(r, index, edges)
	tail := [nodeSlots]int64{}
	for slot := slotFlags; slot < slots; slot++ {
		tail[slot] = r.IntIn(0, tailLimit(slot, queues))
	}
	flags := tail[slotFlags]
	n.Class = wire.Class(flags & fieldMask)
	n.Lane = wire.Priority(flags >> laneShift & fieldMask)
	n.OnDepFailure = wire.DepPolicy(flags >> policyShift & fieldMask)
	if n.Class > wire.ClassTask || n.Lane > wire.Low || n.OnDepFailure > wire.DepRun || len(queues) == 0 {
		r.Refuse()
		return
	}
	n.Queue = queues[tail[slotQueue]]
	n.DelayMS, n.StartMS, n.MaxAttempts = tail[slotDelay], tail[slotStart], int(tail[slotAttempts])
}

func (n *Node) readDeps(r *pack.Reader, index, edges int) {
	count := r.ArrayLen()
	if count > min(index, edges) {
		r.Refuse()
		return
	}
	if count == 0 {
		return
	}
	n.Deps = make([]int, count)
	last := index - int(r.IntIn(1, int64(index)))
	n.Deps[0] = last
	for k := 1; k < count && r.Err() == nil; k++ {
		last += int(r.IntIn(1, int64(index-1-last)))
		n.Deps[k] = last
	}
}
