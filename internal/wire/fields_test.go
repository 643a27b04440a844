package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

type (
	price   struct{ Cents int64 }
	Address struct{ City string }
	order   struct {
		ID    string `json:"id,omitempty"`
		First price  `json:"-"`
		Inner struct {
			Deep price `json:"deep" msgpack:"d"`
			N    int
		} `json:"inner"`
		Address
		Pointer *price
		List    []price
		Pair    [2]price
		Empty1  struct{}
		Empty2  struct{}
		hidden  price
		Last    byte
	}
)

func TestFieldsAreFoundByTheirAddress(t *testing.T) {
	t.Parallel()
	o := &order{Pointer: &price{}, List: make([]price, 1)}
	for _, tt := range []struct {
		field any
		want  string // "" for an error
		err   string
	}{
		{field: &o.ID, want: "id"},
		{field: &o.First, want: "First"},
		{field: &o.First.Cents, want: "First Cents"},
		{field: &o.Inner, want: "inner"},
		{field: &o.Inner.Deep, want: "inner d"},
		{field: &o.Inner.Deep.Cents, want: "inner d Cents"},
		{field: &o.Inner.N, want: "inner N"},
		{field: &o.City, want: "Address City"},
		{field: &o.Address, want: "Address"},
		{field: &o.Pointer, want: "Pointer"},
		{field: &o.List, want: "List"},
		{field: &o.Pair, want: "Pair"},
		{field: &o.Last, want: "Last"},

		{field: o, err: "whole struct"},
		{field: &o.Pointer.Cents, err: "not inside the struct"},
		{field: &o.List[0], err: "not inside the struct"},
		{field: &o.Pair[1], err: "not a field that can be set by its name"},
		{field: &o.hidden, err: "not a field that can be set by its name"},
		{field: &o.hidden.Cents, err: "not a field that can be set by its name"},
		{field: &o.Empty1, err: "Empty1 and Empty2 have the same address"},
		{field: new(string), err: "not inside the struct"},
		{field: (*string)(nil), err: "must be a pointer to a field"},
		{field: nil, err: "must be a pointer to a field"},
		{field: 3, err: "must be a pointer to a field"},
	} {
		path, err := wire.FieldPath(o, tt.field)
		if got := strings.Join(path, " "); got != tt.want || (err == nil) != (tt.err == "") {
			t.Errorf("%T: path %q, error %v, want %q", tt.field, got, err, tt.want)
			continue
		}
		if err != nil {
			if !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%T: error %v, want one with %q", tt.field, err, tt.err)
			}
			continue
		}
		field, ok := wire.FieldByPath(reflect.ValueOf(o).Elem(), path)
		if !ok || field.Addr().Interface() != tt.field {
			t.Errorf("the path %v leads elsewhere", path)
		}
	}
	for _, base := range []any{nil, order{}, (*order)(nil), new(int)} {
		if path, err := wire.FieldPath(base, &o.ID); err == nil {
			t.Errorf("%T: path %v", base, path)
		}
	}
}

func TestPathsOfOtherProgramsLeadNowhere(t *testing.T) {
	t.Parallel()
	o := reflect.ValueOf(&order{}).Elem()
	for _, path := range [][]string{nil, {"ID"}, {"id", "x"}, {"hidden"}, {"inner", "deep"}, {""}} {
		if field, ok := wire.FieldByPath(o, path); ok {
			t.Errorf("%q leads to a %v", path, field.Type())
		}
	}
	if _, ok := wire.FieldByPath(reflect.ValueOf(order{}), []string{"id"}); ok {
		t.Error("a field that cannot be set was found")
	}
}

func TestRunSpecTellsFaultsInOrderAndOnce(t *testing.T) {
	t.Parallel()
	spec := &wire.RunSpec{Name: "order", Nodes: []wire.RunNode{{Name: "a"}, {Name: "b"}}}
	if err := spec.Err(); err != nil {
		t.Fatal(err)
	}
	bad := func(s string) error { return wire.CheckName(s, "") }
	spec.Reject(1, bad("node b"))
	clone := spec.Clone()
	clone.Reject(-1, bad("run"))
	spec.Reject(0, bad("node a"))
	spec.Reject(1, bad("node b"))
	clone.Nodes[0].Name = "c"

	var names []string
	for _, f := range spec.Err().(*wire.RunFaults).Faults {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Error(diff)
	}
	if faults := clone.Err().(*wire.RunFaults).Faults; len(faults) != 2 || faults[0].Node != -1 || spec.Nodes[0].Name != "a" {
		t.Errorf("the clone has %v", faults)
	}
}

func TestRunSpecMergesOptions(t *testing.T) {
	t.Parallel()
	def := &wire.Definition{Name: "k", Options: wire.Options{
		Set: wire.FieldQueue | wire.FieldMeta | wire.FieldRetention, Queue: "q", Retention: 5, Meta: []wire.KV{{Key: "a", Value: "def"}, {Key: "b", Value: "def"}},
	}}
	spec := &wire.RunSpec{
		Options: wire.Options{Set: wire.FieldMeta, Meta: []wire.KV{{Key: "a", Value: "run"}}},
		Nodes:   []wire.RunNode{{Name: "n", Def: def}, {Name: "w", Kind: wire.KindWait}},
	}
	o := spec.Effective(0)
	if diff := cmp.Diff([]wire.KV{{Key: "a", Value: "run"}, {Key: "b", Value: "def"}}, o.Meta); diff != "" || o.Queue != "q" {
		t.Errorf("queue %q, meta:\n%s", o.Queue, diff)
	}
	if o := spec.Effective(1); len(o.Meta) != 1 || !o.Set.Has(wire.FieldMeta) {
		t.Errorf("a wait has %+v", o)
	}
	if got := spec.Retention(); got.Hours() != 1 {
		t.Errorf("kept for %v", got)
	}
	spec.Nodes[1].Options = wire.Options{Set: wire.FieldRetention, Retention: 3600e9 * 30}
	if got := spec.Retention(); got.Hours() != 30 {
		t.Errorf("kept for %v", got)
	}
	spec.Options.Set |= wire.FieldRetention
	if got := spec.Retention(); got != 0 {
		t.Errorf("kept for %v", got)
	}
	if spec.Nodes[0].Class() != wire.ClassAction || spec.Nodes[1].Class() != wire.ClassTask {
		t.Error("wrong classes")
	}
}
