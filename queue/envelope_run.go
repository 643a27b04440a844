package queue

import (
	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Part is what a node of a run of many steps knows of its place in the graph, so
// that its end needs no look at the graph.
type Part struct {
	// Index is the node's own.
	Index int
	// Wide tells that the children are released by the sweep: they are too many for
	// one script. Children is empty then.
	Wide bool
	// Children are the nodes that depend on this one.
	Children []Child
	// Mode says what the input is made of, Refs of which outputs.
	Mode wire.InputMode
	Refs []wire.InputRef
}

// Child is a node that depends on another one.
type Child struct {
	Index    int
	Queue    string
	Priority wire.Priority
	// DelayMs is how long it waits when it is released, StartMs the time before which
	// it does not start. One of them is 0.
	DelayMs, StartMs int64
}

// Parent is a step that waits for the run.
type Parent struct {
	// Step is the waiting step as it is stored, Signal what tells it of the end.
	Step, Signal string
}

// text is the parent as the scripts have it, "" for none.
func (p *Parent) text() string {
	if p == nil {
		return ""
	}
	return p.Step + " " + p.Signal
}

const flagWide = 1

// appendPart appends nil, or the array: index, flags, children as arrays of index,
// queue (nil: default), lane, delay ms or, below zero, start ms; mode, refs as arrays of node
// and field names.
func appendPart(dst []byte, p *Part) []byte {
	if p == nil {
		return pack.AppendNil(dst)
	}
	dst = pack.AppendArray(dst, 5)
	dst = pack.AppendInt(dst, int64(p.Index))
	flags := uint64(0)
	if p.Wide {
		flags |= flagWide
	}
	dst = pack.AppendUint(dst, flags)
	dst = pack.AppendArray(dst, len(p.Children))
	for i := range p.Children {
		dst = appendChild(dst, &p.Children[i])
	}
	dst = pack.AppendUint(dst, uint64(p.Mode))
	dst = pack.AppendArray(dst, len(p.Refs))
	for _, ref := range p.Refs {
		dst = pack.AppendArray(dst, 1+len(ref.Path))
		dst = pack.AppendInt(dst, int64(ref.Node))
		for _, name := range ref.Path {
			dst = pack.AppendString(dst, name)
		}
	}
	return dst
}

func appendChild(dst []byte, c *Child) []byte {
	dst = pack.AppendArray(dst, 4)
	dst = pack.AppendInt(dst, int64(c.Index))
	dst = appendOptionalString(dst, c.Queue, c.Queue != wire.DefaultQueue)
	dst = pack.AppendUint(dst, uint64(c.Priority))
	return pack.AppendInt(dst, c.DelayMs-c.StartMs)
}

func readPart(r *pack.Reader) *Part {
	if r.Nil() {
		return nil
	}
	if r.ArrayLen() != 5 {
		r.Refuse()
	}
	p := &Part{Index: readNode(r), Wide: r.IntIn(0, flagWide) == flagWide}
	for range r.ArrayLen() {
		if r.ArrayLen() != 4 {
			r.Refuse()
		}
		c := Child{Index: readNode(r), Queue: wire.DefaultQueue}
		if !r.Nil() {
			c.Queue = readName(r)
		}
		c.Priority = wire.Priority(r.IntIn(0, int64(wire.Low)))
		if wait := r.IntIn(-maxStoredInt, maxStoredInt); wait < 0 {
			c.StartMs = -wait
		} else {
			c.DelayMs = wait
		}
		if r.Err() != nil {
			return nil
		}
		p.Children = append(p.Children, c)
	}
	p.Mode = wire.InputMode(r.IntIn(0, int64(wire.FromJoin)))
	for range r.ArrayLen() {
		n := r.ArrayLen()
		if n < 1 {
			r.Refuse()
		}
		ref := wire.InputRef{Node: readNode(r)}
		for range n - 1 {
			ref.Path = append(ref.Path, r.Text())
		}
		if r.Err() != nil {
			return nil
		}
		p.Refs = append(p.Refs, ref)
	}
	return p
}

func readNode(r *pack.Reader) int { return int(r.IntIn(0, maxNodeIndex-1)) }

func appendParent(dst []byte, p *Parent) []byte {
	if p == nil {
		return pack.AppendNil(dst)
	}
	dst = pack.AppendArray(dst, 2)
	dst = pack.AppendString(dst, p.Step)
	return pack.AppendString(dst, p.Signal)
}

func readParent(r *pack.Reader) *Parent {
	if r.Nil() {
		return nil
	}
	if r.ArrayLen() != 2 {
		r.Refuse()
	}
	p := &Parent{Step: r.Text(), Signal: r.Text()}
	if _, ok := parseStepID(p.Step); !ok || r.Err() != nil {
		r.Refuse()
		return nil
	}
	return p
}
