package step_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// Journals that one program has written and a changed one reads.

type receipt struct{ Amount int }

// oldProgram leaves a journal with a charge in it.
func oldProgram(t *testing.T) *task {
	k := newTask(t)
	k.attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", func(context.Context) (receipt, error) { return receipt{Amount: 100}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return errors.New("then its worker was stopped")
	})
	return k
}

func TestARecordThatNoLongerDecodesSaysWhatToDo(t *testing.T) {
	t.Parallel()
	k := oldProgram(t)
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", func(context.Context) ([]int, error) { t.Error("it ran again"); return nil, nil })
		return err
	})
	var failed *step.Error
	if !errors.As(e.err, &failed) || failed.Code != retry.CodeDecode {
		t.Fatalf("got %v", e.err)
	}
	for _, part := range []string{"charge#1", "[]int", "new name"} {
		if !strings.Contains(failed.Error(), part) {
			t.Errorf("it does not say %q: %v", part, failed)
		}
	}
	if d := retry.Decide(retry.Rule{}, 1, e.err, 0); d.Outcome != retry.OutcomeDiscard || d.Code != retry.CodeDecode {
		t.Errorf("the run: %+v", d)
	}
	// The old program still reads it.
	again := k.attempt(func(ctx context.Context) error {
		got, err := step.Do(ctx, "charge", func(context.Context) (receipt, error) { return receipt{}, nil })
		if got.Amount != 100 {
			t.Errorf("got %+v", got)
		}
		return err
	})
	if again.err != nil {
		t.Error(again.err)
	}
}

func TestARecordOfABrokenLayoutIsADecodeFailure(t *testing.T) {
	t.Parallel()
	k := oldProgram(t)
	k.entries["r:charge#1"] = []byte("\x93\x09")
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", func(context.Context) (receipt, error) { return receipt{}, nil })
		return err
	})
	var failed *step.Error
	if !errors.As(e.err, &failed) || failed.Code != retry.CodeDecode {
		t.Errorf("got %v", e.err)
	}
}

func TestAVanishedNameIsIgnoredAndANewOneRuns(t *testing.T) {
	t.Parallel()
	k := oldProgram(t)
	ran := false
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge-v2", func(context.Context) (receipt, error) { ran = true; return receipt{Amount: 90}, nil })
		return err
	})
	if e.err != nil || !ran || len(k.entries) != 2 {
		t.Errorf("%v, journal %v", e.err, k.kept())
	}
}

func TestAFieldMoreOrLessIsNoChange(t *testing.T) {
	t.Parallel()
	e := oldProgram(t).attempt(func(ctx context.Context) error {
		type receipt struct {
			Amount   int
			Currency string
		}
		got, err := step.Do(ctx, "charge", func(context.Context) (receipt, error) { return receipt{}, nil })
		if got.Amount != 100 || got.Currency != "" {
			t.Errorf("got %+v", got)
		}
		return err
	})
	if e.err != nil {
		t.Error(e.err)
	}
}
