package cyclone_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

func TestRequestWithAddsOptionsToACopy(t *testing.T) {
	t.Parallel()
	base := SendEmail.With(Email{To: "ada@example.com"}, cyclone.WithMeta("tenant", "7"), cyclone.WithQueue("mail"))
	traced := base.With(cyclone.WithMeta("trace", "abc"), cyclone.WithMaxAttempts(2))

	if diff := cmp.Diff([]wire.KV{{Key: "tenant", Value: "7"}}, base.Spec().Options.Meta); diff != "" {
		t.Errorf("the request itself changed (-want +got):\n%s", diff)
	}
	got := traced.Spec()
	want := wire.Options{
		Set: wire.FieldQueue | wire.FieldMeta | wire.FieldMaxAttempts, Queue: "mail", MaxAttempts: 2,
		Meta: []wire.KV{{Key: "tenant", Value: "7"}, {Key: "trace", Value: "abc"}},
	}
	if diff := cmp.Diff(want, got.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if got.Err != nil || got.Kind != "send_email" || got.Input != (Email{To: "ada@example.com"}) {
		t.Errorf("the rest of the request was not kept: %+v", got)
	}
}

// A run of many steps is a request too, with the options that a run takes.
func TestRequestOfARun(t *testing.T) {
	t.Parallel()
	run := &wire.RunSpec{Name: "fulfil", Options: wire.Options{Set: wire.FieldMeta, Meta: []wire.KV{{Key: "tenant", Value: "7"}}}}
	base := cyclone.RunRequest(run)
	traced := base.With(cyclone.WithMeta("trace", "abc"), cyclone.WithRetention(time.Hour), cyclone.WaitReplicas(1))
	want := wire.Options{
		Set:  wire.FieldMeta | wire.FieldRetention | wire.FieldWaitReplicas,
		Meta: []wire.KV{{Key: "tenant", Value: "7"}, {Key: "trace", Value: "abc"}}, Retention: time.Hour, WaitReplicas: 1,
	}
	if diff := cmp.Diff(want, traced.Spec().Options); diff != "" || traced.Spec().Err != nil || len(run.Options.Meta) != 1 {
		t.Errorf("run %+v, error %v, options (-want +got):\n%s", run, traced.Spec().Err, diff)
	}
	if !traced.Workflow() || traced.Name() != "fulfil" {
		t.Errorf("it is %q, a workflow %t", traced.Name(), traced.Workflow())
	}
	if r := SendEmail.With(Email{}); r.Workflow() || r.Name() != "send_email" {
		t.Errorf("a step is %q, a workflow %t", r.Name(), r.Workflow())
	}
	for name, opt := range map[string]cyclone.EnqueueOption{
		"queue": cyclone.WithQueue("mail"), "priority": cyclone.WithPriority(cyclone.High), "attempts": cyclone.WithMaxAttempts(2),
		"timeout": cyclone.WithTimeout(time.Second), "delay": cyclone.WithDelay(time.Second), "expiry": cyclone.WithExpiry(time.Second),
		"request key": cyclone.WithRequestKey("k"),
	} {
		if err := base.With(opt).Spec().Err; err == nil || !strings.HasPrefix(err.Error(), "fulfil: a run of many steps takes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestWithReportsWhatIsBad(t *testing.T) {
	t.Parallel()
	if err := SendEmail.With(Email{}).With(cyclone.WithMaxAttempts(0)).Spec().Err; err == nil {
		t.Error("a bad option was taken")
	}
	if err := SendEmail.With(Email{}, cyclone.WithMaxAttempts(0)).With(cyclone.WithMaxAttempts(1)).Spec().Err; err == nil {
		t.Error("a bad request became a good one")
	}
	var zero cyclone.Request
	if err := zero.With(cyclone.WithMaxAttempts(1)).Spec().Err; err == nil {
		t.Error("the zero request became a good one")
	}
}
