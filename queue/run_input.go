package queue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// inputs are the outputs that the input of a claimed node is made of, in the order
// of its references.
type inputs struct {
	states  []string // of their nodes; "" for one that has not ended
	outputs []string
}

func outputField(node int) string { return "o" + strconv.Itoa(node) }
func endedField(node int) string  { return "s" + strconv.Itoa(node) }

// gather reads, in one round trip, what the inputs of the claimed nodes are made
// of. A claim for which that fails stays unread: no handler starts with half an input.
func (s *Store) gather(ctx context.Context, p *partition, out *TurnReply) error {
	var wanting []int
	for i := range out.Claimed {
		if out.Claimed[i].Unread() {
			wanting = append(wanting, i)
		}
	}
	if len(wanting) == 0 {
		return nil
	}
	err := persist(ctx, connectFor, func() error { return p.readInputs(ctx, out.Claimed, wanting) })
	if err != nil {
		return fmt.Errorf("queue: read the inputs of %d claimed steps: %w", len(wanting), err)
	}
	return nil
}

// Unread tells that the outputs could not be read that the claim's input is made of.
// Give it back.
func (c *Claimed) Unread() bool {
	return c.Envelope != nil && c.Envelope.Part != nil && len(c.Envelope.Part.Refs) > 0 && c.inputs == nil
}

// inputBatch is how many fields one command reads.
const inputBatch = 400

func (p *partition) readInputs(ctx context.Context, claimed []Claimed, which []int) error {
	cmds := make([][]*redis.SliceCmd, len(which))
	pipe := p.client.rdb.Pipeline()
	for n, i := range which {
		c := &claimed[i]
		var fields []string
		for _, ref := range c.Envelope.Part.Refs {
			fields = append(fields, endedField(ref.Node), outputField(ref.Node))
		}
		for batch := range slices.Chunk(fields, inputBatch) {
			cmds[n] = append(cmds[n], pipe.HMGet(ctx, p.keys.run(c.ID.String()), batch...))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for n, i := range which {
		in := new(inputs)
		for _, cmd := range cmds[n] {
			values := stringsOf(cmd.Val())
			for k := 0; k < len(values); k += 2 {
				in.states, in.outputs = append(in.states, values[k]), append(in.outputs, values[k+1])
			}
		}
		claimed[i].inputs = in
	}
	return nil
}

// Decode fills the value that into points to with the input of a claimed step. The
// input of a node of a run of many steps can be made of other nodes' outputs: a
// node that ended otherwise than completed leaves its place as it is. An error is
// one that another attempt would not mend.
func (s *Store) Decode(c *Claimed, into any) error {
	env := c.Envelope
	if env.Part == nil || len(env.Part.Refs) == 0 {
		return s.client.codecs.decode(env.Codec, env.Payload, into)
	}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("queue: decode into %T: must be a pointer", into)
	}
	switch env.Part.Mode {
	case wire.FromNode:
		return s.decodeOutput(c, 0, into)
	case wire.FromAll:
		return s.decodeAll(c, target.Elem())
	default:
		if err := s.client.codecs.decode(env.Codec, env.Payload, into); err != nil {
			return err
		}
		return s.join(c, target.Elem())
	}
}

// decodeOutput decodes the output that the n-th reference names.
func (s *Store) decodeOutput(c *Claimed, n int, into any) error {
	node, in := c.Envelope.Part.Refs[n].Node, c.inputs
	if in == nil || n >= len(in.outputs) {
		return errors.New("the outputs that it is made of were not read")
	}
	return s.client.decodeOutput(func() string { return s.nodeName(c, node) }, in.states[n], in.outputs[n], into)
}

// decodeOutput decodes what a node returned, and nothing for one that returned
// nothing. Errors name the node.
func (c *Client) decodeOutput(name func() string, state, output string, into any) error {
	mark, _, ok := dag.ParseMark(state)
	switch {
	case !ok || mark == dag.MarkNone:
		return fmt.Errorf("node %s, whose output is wanted, has not ended", name())
	case mark != dag.MarkCompleted:
		return nil
	case output == "":
		return fmt.Errorf("the output of node %s is gone", name())
	}
	kept, err := decodeResult([]byte(output))
	if err == nil {
		err = c.codecs.decode(kept.Codec, kept.Output, into)
	}
	if err != nil {
		return fmt.Errorf("the output of node %s: %w", name(), err)
	}
	return nil
}

// decodeAll makes a list of the outputs.
func (s *Store) decodeAll(c *Claimed, list reflect.Value) error {
	n := len(c.Envelope.Part.Refs)
	kind := list.Type()
	if kind.Kind() == reflect.Interface {
		kind = reflect.TypeFor[[]any]()
	}
	if kind.Kind() != reflect.Slice || !kind.AssignableTo(list.Type()) {
		return fmt.Errorf("the outputs of %d nodes do not fit into a %v", n, list.Type())
	}
	all := reflect.MakeSlice(kind, n, n)
	for i := range n {
		if err := s.decodeOutput(c, i, all.Index(i).Addr().Interface()); err != nil {
			return err
		}
	}
	list.Set(all)
	return nil
}

// join puts the outputs into the fields that they are for.
func (s *Store) join(c *Claimed, outer reflect.Value) error {
	for outer.Kind() == reflect.Pointer {
		if outer.IsNil() {
			outer.Set(reflect.New(outer.Type().Elem()))
		}
		outer = outer.Elem()
	}
	for i, ref := range c.Envelope.Part.Refs {
		field, ok := wire.FieldByPath(outer, ref.Path)
		if !ok {
			return fmt.Errorf("%v has no field %q for the output of node %s", outer.Type(), ref.Path, s.nodeName(c, ref.Node))
		}
		if err := s.decodeOutput(c, i, field.Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}
