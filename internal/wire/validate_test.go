package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// entries makes n entries of meta data with values of size bytes.
func entries(n, size int) []wire.KV {
	meta := make([]wire.KV, n)
	for i := range meta {
		meta[i] = wire.KV{Key: fmt.Sprint(i), Value: strings.Repeat("v", size)}
	}
	return meta
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	late := time.Date(2150, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		field wire.Field
		good  []wire.Options
		bad   map[string]wire.Options // by a part of the error
	}{
		{wire.FieldMaxAttempts,
			[]wire.Options{{MaxAttempts: 1}, {MaxAttempts: 10_000}},
			map[string]wire.Options{"max attempts 0": {}, "max attempts 10001": {MaxAttempts: 10_001}}},
		{wire.FieldDelays,
			[]wire.Options{{Delays: []time.Duration{1}}},
			map[string]wire.Options{"delays[0]": {Delays: []time.Duration{0}}}},
		{wire.FieldQueue,
			[]wire.Options{{Queue: "mail-1.high_x"}},
			map[string]wire.Options{`queue ""`: {}, `queue "a b"`: {Queue: "a b"}, `queue "{a}"`: {Queue: "{a}"}}},
		{wire.FieldPriority,
			[]wire.Options{{Priority: wire.High}, {Priority: wire.Low}},
			map[string]wire.Options{"priority 3": {Priority: 3}}},
		{wire.FieldTimeout,
			[]wire.Options{{Timeout: time.Millisecond}},
			map[string]wire.Options{"timeout 0s": {}, "timeout -1s": {Timeout: -time.Second}, "timeout 8": {Timeout: retry.MaxDelay + 1}}},
		{wire.FieldRetention,
			[]wire.Options{{}, {Retention: time.Hour}},
			map[string]wire.Options{"retention -1ns": {Retention: -1}}},
		{wire.FieldDelay,
			[]wire.Options{{}, {Delay: retry.MaxDelay}},
			map[string]wire.Options{"delay -1s": {Delay: -time.Second}, "100 years": {Delay: retry.MaxDelay + 1}}},
		{wire.FieldStartAt,
			[]wire.Options{{StartAt: time.Unix(0, 0)}, {StartAt: late.Add(-1)}},
			map[string]wire.Options{"zero time": {}, "before 2150": {StartAt: late}}},
		{wire.FieldDelay | wire.FieldStartAt,
			nil,
			map[string]wire.Options{"not both": {StartAt: time.Unix(1, 0)}}},
		{wire.FieldExpiry,
			[]wire.Options{{Expiry: time.Millisecond}, {Expiry: 1 * time.Second, Delay: time.Hour}},
			map[string]wire.Options{"expiry 0s": {}}},
		{wire.FieldExpiry | wire.FieldDelay,
			[]wire.Options{{Expiry: time.Hour, Delay: time.Minute}},
			map[string]wire.Options{"longer than the delay of 1m0s": {Expiry: time.Minute, Delay: time.Minute}}},
		{wire.FieldUnique,
			[]wire.Options{{}, {Unique: wire.Unique{Key: strings.Repeat("k", 1024), Scope: time.Millisecond, Conflict: wire.ConflictReject}}, {Unique: wire.Unique{Conflict: wire.ConflictReplace}}},
			map[string]wire.Options{
				"unique key of 1025 bytes": {Unique: wire.Unique{Key: strings.Repeat("k", 1025)}},
				"unique scope -1ns":        {Unique: wire.Unique{Scope: -1}},
				"unique scope 1µs":         {Unique: wire.Unique{Scope: time.Microsecond}},
				"unique conflict 3":        {Unique: wire.Unique{Conflict: 3}},
				"needs the scope":          {Unique: wire.Unique{Conflict: wire.ConflictReplace, Scope: time.Hour}},
			}},
		{wire.FieldRequestKey,
			[]wire.Options{{RequestKey: "order-1"}},
			map[string]wire.Options{"request key of 0": {}, "request key of 257": {RequestKey: strings.Repeat("k", 257)}}},
		{wire.FieldMeta,
			[]wire.Options{{}, {Meta: entries(64, 0)}, {Meta: entries(1, 8<<10)}},
			map[string]wire.Options{
				"65 entries":          {Meta: entries(65, 0)},
				"value of 8193 bytes": {Meta: entries(1, 8<<10+1)},
				"bytes in total":      {Meta: entries(3, 8<<10)},
				`meta key ""`:         {Meta: []wire.KV{{}}},
				`meta key "\xff"`:     {Meta: []wire.KV{{Key: "\xff"}}},
				`meta "k": value`:     {Meta: []wire.KV{{Key: "k", Value: "\xff"}}},
			}},
		{wire.FieldWaitReplicas,
			[]wire.Options{{WaitReplicas: 1}},
			map[string]wire.Options{"wait replicas 0": {}, "wait replicas 1001": {WaitReplicas: 1001}}},
	}
	for _, tt := range tests {
		for _, good := range tt.good {
			good.Set = tt.field
			if err := good.Validate(); err != nil {
				t.Errorf("%+v: %v", good, err)
			}
		}
		for want, bad := range tt.bad {
			if err := bad.Validate(); err != nil {
				t.Errorf("%q is not set, and still: %v", want, err)
			}
			bad.Set = tt.field
			if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		}
	}
}

func TestValidateNamesEveryBadField(t *testing.T) {
	t.Parallel()
	bad := wire.Options{Set: wire.FieldWaitReplicas<<1 - 1, Priority: 9, Retention: -1, Delay: -1, Meta: []wire.KV{{}}, Unique: wire.Unique{Conflict: 9}}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{
		"max attempts", "queue", "priority", "timeout", "retention", "delay", "start time", "expiry",
		"unique", "request key", "meta", "wait replicas",
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s:\n%v", name, err)
		}
	}
}

func TestValidateGoodOptionsAllocatesNothing(t *testing.T) {
	options := wire.Options{Set: wire.FieldMaxAttempts | wire.FieldQueue | wire.FieldMeta, MaxAttempts: 3, Queue: "mail", Meta: entries(2, 10)}
	if n := testing.AllocsPerRun(100, func() { _ = options.Validate() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
