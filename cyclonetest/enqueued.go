package cyclonetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// Kind is an action, a step or a task with inputs of type In.
type Kind[In any] interface {
	cyclone.Definition
	With(In, ...cyclone.EnqueueOption) cyclone.Request
}

// pending are the states of steps that wait, but for those that wait for other nodes.
var pending = []cyclone.StepState{
	cyclone.StepReady, cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting,
}

// Enqueued returns the inputs of the steps of this kind that wait, for a worker, a
// time or a signal, in the order in which they were enqueued. Go infers In from def.
// It fails the test when an input cannot be decoded into an In. Of a workflow it tells
// the nodes whose dependencies have ended; an input that is the output of others is
// put together when it is needed, and is a zero value here.
func Enqueued[In any](t testing.TB, client *queue.Client, def Kind[In]) []In {
	t.Helper()
	var inputs []In
	kinds := names(def)
	for _, step := range list(t.Context(), t, client, pending...) {
		if !slices.Contains(kinds, step.Kind) {
			continue
		}
		detail, err := client.Step(t.Context(), step.RunID, step.Node)
		if errors.Is(err, cyclone.ErrNotFound) {
			continue // it has just ended
		}
		var in In
		if err == nil {
			err = decode(client, detail.Input, &in)
		}
		if err != nil {
			t.Fatalf("cyclonetest: input of run %v: %v", step.RunID, err)
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// firstUserCodec is the lowest id of a codec that is not Cyclone's own.
const firstUserCodec = 16

// decode decodes a payload of which the codec's name is known, but not its id.
func decode(client *queue.Client, p queue.Payload, into any) error {
	switch p.Codec {
	case "":
		return nil
	case codec.Name():
		return client.Decode(codec.ID(), p.Bytes, into)
	case jsonCodec.Name():
		return client.Decode(jsonCodec.ID(), p.Bytes, into)
	}
	for id := firstUserCodec; id <= math.MaxUint8; id++ {
		if client.Decode(uint8(id), p.Bytes, into) == nil {
			return nil
		}
	}
	return fmt.Errorf("it cannot be read by codec %q", p.Codec)
}

var jsonCodec = queue.NewJSONCodec(0)
