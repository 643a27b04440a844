package wire_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// full returns options with every field set, told apart by n.
func full(n int) wire.Options {
	d := time.Duration(n) * time.Minute
	return wire.Options{
		Set:         wire.FieldWaitReplicas<<1 - 1,
		MaxAttempts: n, Delays: []time.Duration{d}, Queue: "q" + string(rune('0'+n)), Priority: wire.Priority(n),
		Timeout: d, Retention: d, Delay: d, StartAt: time.Unix(int64(n), 0), Expiry: 2 * d,
		Unique: wire.Unique{Key: "u", Scope: d}, RequestKey: "r" + string(rune('0'+n)),
		Meta: []wire.KV{{Key: "k", Value: string(rune('0' + n))}}, WaitReplicas: n,
	}
}

func TestOverTakesEachFieldFromTheFirstThatHasIt(t *testing.T) {
	t.Parallel()
	one, two := full(1), full(2)
	if diff := cmp.Diff(one, one.Over(two)); diff != "" {
		t.Errorf("everything set: base shows through (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(two, wire.Options{}.Over(two)); diff != "" {
		t.Errorf("nothing set: base is not taken (-want +got):\n%s", diff)
	}
	for field := wire.FieldMaxAttempts; field <= wire.FieldWaitReplicas; field <<= 1 {
		// A single set field changes that field alone, or the pair of start times.
		over := one
		over.Set = field
		if field != wire.FieldMeta {
			over.Meta = nil
		}
		got := over.Over(two)
		changed := differing(got, two)
		want := 1
		if field == wire.FieldDelay || field == wire.FieldStartAt {
			want = 3 // delay, start time and Set
		}
		if len(changed) != want {
			t.Errorf("field %b: %v differ from the base", field, changed)
		}
	}
}

// differing names the fields in which a and b differ.
func differing(a, b wire.Options) []string {
	var names []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			names = append(names, x.Type().Field(i).Name)
		}
	}
	return names
}

func TestOverLetsEitherStartOverrideBoth(t *testing.T) {
	t.Parallel()
	base := wire.Options{Set: wire.FieldDelay, Delay: time.Hour}
	over := wire.Options{Set: wire.FieldStartAt, StartAt: time.Unix(1, 0)}
	got := over.Over(base)
	if err := got.Validate(); err != nil || got.Set != wire.FieldStartAt {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestOverMergesMetaByKey(t *testing.T) {
	t.Parallel()
	base := wire.Options{Set: wire.FieldMeta, Meta: []wire.KV{{Key: "a", Value: "1"}, {Key: "b", Value: "1"}}}
	over := wire.Options{Set: wire.FieldMeta, Meta: []wire.KV{{Key: "c", Value: "2"}, {Key: "a", Value: "2"}}}
	want := []wire.KV{{Key: "a", Value: "2"}, {Key: "b", Value: "1"}, {Key: "c", Value: "2"}}
	if diff := cmp.Diff(want, over.Over(base).Meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
	if base.Meta[0].Value != "1" || over.Meta[0].Key != "c" {
		t.Error("Over changed its arguments")
	}
}

func TestDefaultsOfOptions(t *testing.T) {
	t.Parallel()
	var none wire.Options
	if none.Lane() != wire.Default || none.QueueName() != "default" {
		t.Errorf("lane %v, queue %q", none.Lane(), none.QueueName())
	}
	some := wire.Options{Set: wire.FieldQueue | wire.FieldPriority, Queue: "mail", Priority: wire.High}
	if some.Lane() != wire.High || some.QueueName() != "mail" {
		t.Errorf("lane %v, queue %q", some.Lane(), some.QueueName())
	}
}
