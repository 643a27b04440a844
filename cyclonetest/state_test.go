package cyclonetest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/queue"
)

func TestRequireState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		fails := cyclone.NewAction("fails", func(cyclone.Context, bool) error { return errors.New("no route to host") }, cyclone.WithMaxAttempts(2))
		works := cyclone.NewAction("works", func(cyclone.Context, bool) error { return nil })
		runs := enqueue(t, client, fails.With(true), works.With(true, cyclone.WithDelay(time.Hour)))
		cyclonetest.RequireState(t, client, runs[0], cyclone.StepReady)
		cyclonetest.RequireState(t, client, runs[1], cyclone.StepScheduled)
		cyclonetest.Drain(t, client, fails, works)
		cyclonetest.RequireState(t, client, runs[0], cyclone.StepExhausted)
		cyclonetest.RequireState(t, client, runs[1], cyclone.StepCompleted) // nothing is kept of it

		got := failureOf(t, func(t testing.TB) { cyclonetest.RequireState(t, client, runs[0], cyclone.StepCompleted) })
		for _, want := range []string{"run 1: fails is discarded, want completed", "attempts: 2\n", "no route to host (error)", "failed, attempt 1: no route to host"} {
			if !strings.Contains(got, want) {
				t.Errorf("the failure does not tell %q:\n%s", want, got)
			}
		}
		nobody := cyclone.Attach(client, 4711)
		if got := failureOf(t, func(t testing.TB) { cyclonetest.RequireState(t, client, nobody, cyclone.StepReady) }); !strings.Contains(got, "run 4711: want ready") {
			t.Errorf("a run that is not there: failed with %q", got)
		}
	})
}

func TestEnqueued(t *testing.T) {
	t.Parallel()
	client := cyclonetest.NewClient(t)
	type email struct {
		To  string    `json:"to"`
		At  time.Time `json:"at"`
		Raw []byte    `json:"raw"`
	}
	send := cyclone.DeclareAction[email]("send", cyclone.WithAlias("mail"))
	count := cyclone.DeclareStep[int, int]("count")
	later := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	first, second := email{To: "ada@example.com", At: later, Raw: []byte{0, 255}}, email{To: "bob@example.com", At: later, Raw: []byte("x")}
	enqueue(t, client, send.With(first, cyclone.WithDelay(time.Hour)), count.With(1), send.With(second, cyclone.WithQueue("mail"), cyclone.WithPriority(cyclone.High)))
	if _, err := cyclone.EnqueueJSON(t.Context(), client, "mail", []byte(`{"to":"cleo@example.com"}`)); err != nil {
		t.Fatal(err)
	}
	want := []email{first, second, {To: "cleo@example.com"}}
	if diff := cmp.Diff(want, cyclonetest.Enqueued(t, client, send)); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1}, cyclonetest.Enqueued(t, client, count)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := cyclonetest.Enqueued(t, client, cyclone.DeclareTask[int, int]("other")); got != nil {
		t.Errorf("of a kind that nobody enqueued: %v", got)
	}
	got := failureOf(t, func(t testing.TB) { cyclonetest.Enqueued(t, client, cyclone.DeclareAction[int]("send")) })
	if !strings.Contains(got, "input of run 1") {
		t.Errorf("an input of another type: failed with %q", got)
	}
}

func TestEnqueuedReadsAnEncryptedInput(t *testing.T) {
	t.Parallel()
	sealed, err := queue.NewEncryptedCodec(42, queue.NewMsgpackCodec(0), nil, queue.EncryptionKey{ID: "k1", Secret: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	client, err := queue.NewClient(cyclonetest.NewRedis(t), queue.Config{Codec: sealed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	secret := cyclone.DeclareAction[string]("secret")
	enqueue(t, client, secret.With("open sesame"))
	if diff := cmp.Diff([]string{"open sesame"}, cyclonetest.Enqueued(t, client, secret)); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}
