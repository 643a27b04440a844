package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

func newTx(tag string) *wire.Tx {
	return &wire.Tx{
		Namespace: "cyclone:", Base: "cyclone:{3}:tx:", Tag: tag,
		Here: func(run int64) bool { return run%4 == 3 },
		Encode: func(v any) (uint8, []byte, error) {
			if text, ok := v.(string); ok {
				return 1, []byte(text), nil
			}
			return 0, nil, io.ErrUnexpectedEOF
		},
		Prepare: func(spec *wire.RunSpec) (any, error) { return "prepared " + spec.Name, spec.Err() },
	}
}

// flow is a run of n nodes.
func flow(n int, set wire.Field) *wire.RunSpec {
	return &wire.RunSpec{Name: "flow", Options: wire.Options{Set: set}, Nodes: make([]wire.RunNode, n)}
}

func TestTxCollects(t *testing.T) {
	t.Parallel()
	tx := newTx("")
	def := &wire.Definition{Name: "mail"}
	for _, err := range []error{
		tx.Set("key", "value", time.Minute), tx.Set(tx.Key("own"), "", 0), tx.Delete("key"), tx.IncrBy("n", -7),
		tx.HashSet("h", "f", "v"), tx.SetAdd("s", "a", "b"), tx.ListPush("l", "x"),
		tx.FollowUp(&wire.Spec{Def: def, Kind: "mail", Input: "in"}), tx.Signal(7, "word", "payload"),
		tx.Run(flow(15_000, 0)), tx.Run(flow(5_000, wire.FieldMeta|wire.FieldRetention)),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	got, err := tx.Close()
	if err != nil || got.Empty() {
		t.Fatal(err)
	}
	want := []wire.TxOp{
		{Kind: wire.TxSet, Key: "key", Values: []string{"value"}, TTL: time.Minute},
		{Kind: wire.TxSet, Key: "cyclone:{3}:tx:own", Values: []string{""}},
		{Kind: wire.TxDelete, Key: "key"}, {Kind: wire.TxIncrBy, Key: "n", Delta: -7},
		{Kind: wire.TxHashSet, Key: "h", Values: []string{"f", "v"}}, {Kind: wire.TxSetAdd, Key: "s", Values: []string{"a", "b"}},
		{Kind: wire.TxListPush, Key: "l", Values: []string{"x"}},
	}
	if diff := cmp.Diff(want, got.Ops); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if f := got.FollowUps; len(f) != 1 || f[0].Spec.Def != def || string(f[0].Payload) != "in" {
		t.Errorf("follow-ups %+v", f)
	}
	run := wire.TxRun{Name: "flow", Prepared: "prepared flow"}
	if diff := cmp.Diff([]wire.TxRun{run, run}, got.Runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]wire.TxSignal{{Run: 7, Name: "word", Codec: 1, Payload: []byte("payload")}}, got.Signals); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	if err := tx.Delete("late"); err == nil || !strings.Contains(err.Error(), "the handler has returned") {
		t.Errorf("added too late: %v", err)
	}
	if c := (wire.Content{Runs: []wire.TxRun{{}}}); c.Empty() {
		t.Error("one with a run is taken for empty")
	}
	if none, err := newTx("").Close(); err != nil || !none.Empty() {
		t.Errorf("an empty one: %+v, %v", none, err)
	}
}

func TestTxRefusesAndRemembers(t *testing.T) {
	t.Parallel()
	options := func(field wire.Field) *wire.Spec {
		return &wire.Spec{Kind: "mail", Input: "", Options: wire.Options{Set: field, RequestKey: "r", WaitReplicas: 1}}
	}
	tests := map[string]struct {
		tag string
		add func(tx *wire.Tx) error
	}{
		"Set: key of 0 bytes: must be 1 to 1024":                          {"", func(tx *wire.Tx) error { return tx.Set("", "", 0) }},
		"Delete: key of 1025 bytes":                                       {"", func(tx *wire.Tx) error { return tx.Delete(strings.Repeat("k", 1025)) }},
		"Set: ttl -1ns: must be 0":                                        {"", func(tx *wire.Tx) error { return tx.Set("k", "", -1) }},
		"HashSet: field of 0 bytes":                                       {"", func(tx *wire.Tx) error { return tx.HashSet("k", "", "") }},
		"SetAdd: 0 members: must be 1 to 100":                             {"", func(tx *wire.Tx) error { return tx.SetAdd("k") }},
		"ListPush: 101 values":                                            {"", func(tx *wire.Tx) error { return tx.ListPush("k", make([]string, 101)...) }},
		"it belongs to Cyclone":                                           {"", func(tx *wire.Tx) error { return tx.Delete("cyclone:{3}:steps") }},
		"must live on the run's partition: name it with":                  {"3", func(tx *wire.Tx) error { return tx.Delete("balance") }},
		"put {3} into it":                                                 {"3", func(tx *wire.Tx) error { return tx.Delete("balance:{30}") }},
		"Set: 1048577 bytes in all: must be at most":                      {"", func(tx *wire.Tx) error { return tx.Set("k", strings.Repeat("x", 1<<20), 0) }},
		"Enqueue: input of mail: unexpected EOF":                          {"", func(tx *wire.Tx) error { return tx.FollowUp(&wire.Spec{Kind: "mail", Input: 7}) }},
		"Enqueue: mail: a unique key lives":                               {"", func(tx *wire.Tx) error { return tx.FollowUp(options(wire.FieldUnique)) }},
		"Enqueue: mail: a request key is not needed":                      {"", func(tx *wire.Tx) error { return tx.FollowUp(options(wire.FieldRequestKey)) }},
		"Enqueue: mail: WaitReplicas":                                     {"", func(tx *wire.Tx) error { return tx.FollowUp(options(wire.FieldWaitReplicas)) }},
		"EnqueueTx: workflow \"flow\": workflow flow: a unique key lives": {"", func(tx *wire.Tx) error { return tx.Run(flow(1, wire.FieldUnique)) }},
		"workflow flow: a request key is not needed":                      {"", func(tx *wire.Tx) error { return tx.Run(flow(1, wire.FieldRequestKey)) }},
		"workflow flow: WaitReplicas is of no use":                        {"", func(tx *wire.Tx) error { return tx.Run(flow(1, wire.FieldWaitReplicas)) }},
		"EnqueueTx: 20001 nodes in all: must be at most 20000": {"", func(tx *wire.Tx) error {
			return errors.Join(tx.Run(flow(10_000, 0)), tx.Run(flow(10_001, 0)))
		}},
		"Enqueue: EOF":                        {"", func(tx *wire.Tx) error { return tx.FollowUp(&wire.Spec{Err: io.EOF}) }},
		`Signal: signal "a b": must be`:       {"", func(tx *wire.Tx) error { return tx.Signal(3, "a b", "") }},
		"run 4 lives on another partition":    {"", func(tx *wire.Tx) error { return tx.Signal(4, "x", "") }},
		"payload of signal x: unexpected EOF": {"", func(tx *wire.Tx) error { return tx.Signal(3, "x", 7) }},
		"payload of signal x: 262145 bytes: must be at most": {"", func(tx *wire.Tx) error {
			return tx.Signal(3, "x", strings.Repeat("x", 256<<10+1))
		}},
		"Delete: operation 101: must be at most 100": {"", func(tx *wire.Tx) (err error) {
			for range 101 {
				err = tx.Delete("k")
			}
			return err
		}},
	}
	for want, tt := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			tx := newTx(tt.tag)
			err := tt.add(tx)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
			if _, kept := tx.Close(); kept == nil || kept.Error() != err.Error() {
				t.Errorf("kept %v", kept)
			}
		})
	}
}

func TestTxOnAClusterTakesKeysOfItsPartition(t *testing.T) {
	t.Parallel()
	tx := newTx("3")
	for _, key := range []string{tx.Key("balance"), "balance:{3}", "{3}", "{3}{4}"} {
		if err := tx.Delete(key); err != nil {
			t.Error(err)
		}
	}
	for _, key := range []string{"3", "{}{3}", "{4}{3}"} {
		if err := tx.Delete(key); (err == nil) != (key == "3") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestStepIDs(t *testing.T) {
	t.Parallel()
	if got := wire.StepID("charge", 2, 0) + " " + wire.StepID("charge", 2, 3); got != "charge#2 charge#2!3" {
		t.Errorf("got %q", got)
	}
	if wire.ValidName(wire.ChildSignal(wire.StepID("charge", 1, 0))) {
		t.Error("a user's signal could be taken for a child's")
	}
}
