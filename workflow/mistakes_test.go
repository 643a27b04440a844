package workflow_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

func TestSpec_C08_BadAttemptsAreABuilderError(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil")
	workflow.Run(b, "charge", charge, workflow.Value(Order{}), cyclone.WithMaxAttempts(0))
	workflow.Do(b, "mail", mail, workflow.Value(Order{}), cyclone.WithMaxAttempts(-1))
	got := mistakes(t, b).Error()
	for _, want := range []string{"node charge: max attempts 0: must be 1 to 10000", "node mail: max attempts -1: must be 1 to 10000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// Each mistake by itself: what is said, and that nothing else is.
func TestMistakes(t *testing.T) {
	t.Parallel()
	order := workflow.Value(Order{})
	unique := cyclone.DeclareAction[Order]("once", cyclone.WithUnique(cyclone.Unique{}))
	var noStep *cyclone.Step[Order, Payment]
	var noTask *cyclone.Task[Order, Label]
	other := workflow.New("other")
	foreign := workflow.Run(other, "charge", charge, order)
	var in Parcel
	start := time.Unix(1, 0)

	for want, build := range map[string]func(b *workflow.Builder){
		"it has no nodes":                         func(*workflow.Builder) {},
		"node a: its action, step or task is nil": func(b *workflow.Builder) { workflow.Do(b, "a", nil, order) },
		"node b: its action, step or task is nil": func(b *workflow.Builder) { workflow.Run(b, "b", noStep, order) },
		"node c: its action, step or task is nil": func(b *workflow.Builder) { workflow.Run(b, "c", noTask, order) },
		"node d: its action, step or task is nil": func(b *workflow.Builder) {
			workflow.Run(b, "d", cyclone.Returning[Order, Label](nil), order)
		},
		`node "a b": must be 1 to 64 letters`: func(b *workflow.Builder) { workflow.Do(b, "a b", mail, order) },
		`node "": must be 1 to 64 letters`:    func(b *workflow.Builder) { workflow.Do(b, "", mail, order) },
		"node a: the name is taken": func(b *workflow.Builder) {
			workflow.Do(b, "a", mail, order)
			workflow.Wait(b, "a", 0)
		},
		"node a: its input is nil":                func(b *workflow.Builder) { workflow.Do(b, "a", mail, nil) },
		"node a: once is defined with WithUnique": func(b *workflow.Builder) { workflow.Do(b, "a", unique, order) },
		"node a: option is nil":                   func(b *workflow.Builder) { workflow.Do(b, "a", mail, order, nil) },
		`node a: queue ""`:                        func(b *workflow.Builder) { workflow.Do(b, "a", mail, order, cyclone.WithQueue("")) },
		"node a: timeout -1s":                     func(b *workflow.Builder) { workflow.Do(b, "a", mail, order, cyclone.WithTimeout(-time.Second)) },
		"node a: delay and start time": func(b *workflow.Builder) {
			workflow.Do(b, "a", mail, order, cyclone.WithDelay(1), cyclone.WithStartAt(start))
		},
		"node a: dependency failure policy 3": func(b *workflow.Builder) { workflow.Do(b, "a", mail, order, workflow.OnDepFailure(3)) },
		`node a: input: node "charge" belongs to another builder, of workflow "other"`: func(b *workflow.Builder) {
			workflow.Run(b, "a", cyclone.DeclareStep[Payment, Label]("x"), foreign)
		},
		`node a: after: node "charge" belongs to another builder`: func(b *workflow.Builder) {
			workflow.Do(b, "a", mail, order, workflow.After(foreign))
		},
		"node a: input: the reference is empty": func(b *workflow.Builder) { workflow.Do(b, "a", ship, workflow.Ref[Label]{}) },
		"node a: after: the reference is empty": func(b *workflow.Builder) {
			var self workflow.Node // what there is of a node before it is added
			workflow.Do(b, "a", mail, order, workflow.After(self))
		},
		"node b: after: the reference is empty": func(b *workflow.Builder) { workflow.Do(b, "b", mail, order, workflow.After(nil)) },
		"node a: join: the struct is nil": func(b *workflow.Builder) {
			workflow.Run(b, "a", pack, workflow.Join[Parcel](nil))
		},
		"node a: join: binding 1: field of type workflow_test.Payment: it is not inside the struct": func(b *workflow.Builder) {
			paid := workflow.Run(b, "p", charge, order)
			workflow.Run(b, "a", pack, workflow.Join(&in, workflow.Bind(new(Payment), paid)))
		},
		"node a: join: binding 2: field payment.Cents: bound twice": func(b *workflow.Builder) {
			paid := workflow.Run(b, "p", charge, order)
			cents := workflow.Run(b, "n", cyclone.DeclareStep[Order, int]("n"), order)
			workflow.Run(b, "a", pack, workflow.Join(&in, workflow.Bind(&in.Payment, paid), workflow.Bind(&in.Payment.Cents, cents)))
		},
		"node a: join: binding 1: field: must be a pointer": func(b *workflow.Builder) {
			workflow.Run(b, "a", pack, workflow.Join(&in, workflow.Binding{}))
		},
		"node a: timeout -1ns: must be at least 0":  func(b *workflow.Builder) { workflow.Wait(b, "a", -1) },
		"node b: timeout -1ns: must be at least 0":  func(b *workflow.Builder) { workflow.WaitSignal[int](b, "b", -1) },
		"node a: sleep of 0s: must be at least 1ms": func(b *workflow.Builder) { workflow.Sleep(b, "a", 0) },
		"node a: a wait or a sleep takes no options but": func(b *workflow.Builder) {
			workflow.Wait(b, "a", 0, cyclone.WithMaxAttempts(3))
		},
	} {
		b := workflow.New("fulfil")
		build(b)
		if got := mistakes(t, b); len(got.Errors) != 1 || !strings.Contains(got.Error(), want) {
			t.Errorf("got %v, want only %q", got, want)
		}
	}
}

func TestMistakesOfTheRun(t *testing.T) {
	t.Parallel()
	b := workflow.New("{x}", nil, workflow.WithDeadline(0), cyclone.WithRetention(-1), cyclone.WithMeta("", ""))
	workflow.Do(b, "mail", mail, workflow.Value(Order{}))
	got := mistakes(t, b)
	for _, want := range []string{`name "{x}"`, "option is nil", "deadline 0s: must be at least 1ms", "retention -1ns", "meta key"} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("no %q in:\n%v", want, got)
		}
	}
}

func TestMistakesComeTogetherInOrder(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil", workflow.WithDeadline(-1))
	paid := workflow.Run(b, "charge", charge, workflow.Value(Order{}), cyclone.WithQueue("?"))
	workflow.Do(b, "mail", mail, nil, workflow.After(paid)) // not wrong because of charge
	_, err := b.Enqueue(t.Context(), &recorder{encode: fmt.Errorf("node charge: input: %w", io.ErrShortBuffer)})
	want := "workflow: \"fulfil\" cannot be enqueued:\n- deadline -1ns: must be at least 1ms and at most 100 years\n" +
		"- node charge: queue \"?\": must be 1 to 64 letters, digits, '.', '_' or '-', and begin with a letter or a digit\n" +
		"- node charge: input: short buffer\n- node mail: its input is nil: take Value, All, Join or what Run has returned"
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if !errors.Is(err, io.ErrShortBuffer) {
		t.Error("the mistakes are not seen one by one")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	order := workflow.Value(Order{})
	wide := workflow.New("wide")
	refs := make([]workflow.Ref[Label], 0, 20_001)
	for i := range 19_999 {
		refs = append(refs, workflow.Run(wide, fmt.Sprintf("l%d", i), label, order))
	}
	workflow.Run(wide, "collect", collect, workflow.All(refs...))
	if err := wide.Err(); err != nil {
		t.Fatal(err)
	}
	over := workflow.Run(wide, "over", label, order)
	workflow.Do(wide, "more", ship, over)
	if got := mistakes(t, wide); len(got.Errors) != 1 || !strings.Contains(got.Error(), "20002 nodes: must be at most 20000") {
		t.Errorf("got %v", got)
	}
	if _, err := workflow.EnqueueFor(t.Context(), &recorder{}, over); err == nil {
		t.Error("a result beyond the limit")
	}

	dense := workflow.New("dense")
	refs = refs[:0]
	for i := range 19_990 {
		refs = append(refs, workflow.Run(dense, fmt.Sprintf("l%d", i), label, order))
	}
	for i := range 5 {
		workflow.Run(dense, fmt.Sprintf("c%d", i), collect, workflow.All(refs...))
	}
	if err := dense.Err(); err != nil {
		t.Fatal(err)
	}
	workflow.Run(dense, "c", collect, workflow.All(refs[:51]...))
	if got := mistakes(t, dense); len(got.Errors) != 1 || !strings.Contains(got.Error(), "100001 dependencies: must be at most 100000") {
		t.Errorf("got %v", got)
	}
}

func TestLongListsOfMistakesAreCounted(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil")
	for i := range 52 {
		workflow.Do(b, fmt.Sprintf("n%d", i), mail, nil)
	}
	got := mistakes(t, b)
	if text := got.Error(); len(got.Errors) != 52 || strings.Count(text, "\n") != 51 || !strings.HasSuffix(text, "\n- and 2 more") {
		t.Errorf("%d mistakes:\n%s", len(got.Errors), text)
	}
}
