package cyclone_test

import (
	"testing"

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
