package cyclonetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
)

type order struct {
	ID     string
	secret string // does not survive encoding
}

var errDeclined = errors.New("declined")

func TestCall(t *testing.T) {
	t.Parallel()
	ctx := cyclonetest.NewContext(t, cyclonetest.Attempt(2))
	charge := cyclone.NewAction("charge", func(ctx cyclone.Context, in order) error {
		if in.secret != "" || in.ID != "17" || ctx.Attempt() != 2 {
			t.Errorf("handler got %+v, attempt %d", in, ctx.Attempt())
		}
		return cyclone.Permanent(errDeclined)
	})
	if err := cyclonetest.CallAction(ctx, charge, order{ID: "17", secret: "x"}); !errors.Is(err, errDeclined) {
		t.Errorf("error %v", err)
	}

	double := func(_ context.Context, in int) (int, error) { return 2 * in, nil }
	if out, err := cyclonetest.CallStep(ctx, cyclone.NewStep("double", double), 21); out != 42 || err != nil {
		t.Errorf("step: %v, %v", out, err)
	}
	task := cyclone.NewTask("double", cyclone.HandlerFunc(double))
	if out, err := cyclonetest.CallTask(ctx, task, 21); out != 42 || err != nil {
		t.Errorf("task: %v, %v", out, err)
	}
}

func TestCallReportsWhatWouldNotWork(t *testing.T) {
	t.Parallel()
	ctx := cyclonetest.NewContext(t)
	for name, c := range map[string]struct {
		want string
		call func() error
	}{
		"no handler": {"only declared", func() error {
			return cyclonetest.CallAction(ctx, cyclone.DeclareAction[int]("charge"), 1)
		}},
		"input": {"input of watch", func() error {
			return cyclonetest.CallAction(ctx, cyclone.NewAction("watch", func(context.Context, chan int) error { return nil }), make(chan int))
		}},
		"output": {"output of open", func() error {
			_, err := cyclonetest.CallStep(ctx, cyclone.NewStep("open", func(context.Context, int) (chan int, error) { return make(chan int), nil }), 1)
			return err
		}},
		"no attempt": {"carries no attempt", func() error {
			return cyclonetest.CallAction(t.Context(), cyclone.NewAction("charge", func(cyclone.Context, int) error { return nil }), 1)
		}},
	} {
		if err := c.call(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
