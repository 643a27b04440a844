package cyclone_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

type email struct{ To string }

func sendNothing(cyclone.Context, email) error { return nil }

func countBytes(_ cyclone.Context, in email) (int, error) { return len(in.To), nil }

func TestSpec_C02_AttemptsByDefault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		def  cyclone.Definition
		want int
	}{
		{cyclone.NewAction("a", sendNothing), 5},
		{cyclone.NewStep("s", countBytes), 5},
		{cyclone.NewTask("t", cyclone.HandlerFunc(countBytes)), 4},
	} {
		rule := tt.def.Wire().Rule(&wire.Options{}, retry.Policy{}, 0)
		if rule.MaxAttempts != tt.want {
			t.Errorf("%s: %d attempts, want %d", tt.def.Name(), rule.MaxAttempts, tt.want)
		}
	}
}

func TestSpec_C04_DefinitionsRunTheirHandlers(t *testing.T) {
	t.Parallel()
	var sent []string
	send := func(ctx cyclone.Context, in email) error {
		sent = append(sent, fmt.Sprint(in.To, ctx.Attempt()))
		return nil
	}
	plain := func(ctx context.Context, in email) (int, error) {
		attempt, ok := cyclone.FromContext(ctx)
		if !ok {
			return 0, io.ErrUnexpectedEOF
		}
		return len(in.To) * attempt.Attempt(), nil
	}
	tests := []struct {
		def  cyclone.Definition
		want any // output
	}{
		{cyclone.NewAction("action", send, cyclone.WithMaxAttempts(3)), nil},
		{cyclone.DeclareAction[email]("declared_action").Handle(send), nil},
		{cyclone.NewStep("step", countBytes), 3},
		{cyclone.NewStep("plain_step", plain), 6},
		{cyclone.DeclareStep[email, int]("declared_step").Handle(countBytes), 3},
		{cyclone.NewTask("task", cyclone.HandlerFunc(plain)), 6},
		{cyclone.DeclareTask[email, int]("declared_task").Handle(cyclone.HandlerFunc(countBytes)), 3},
		{cyclone.HandlerFunc(plain).Define("defined_task"), 6},
	}
	for _, tt := range tests {
		got, err := run(t, newAttempt(t, 2), tt.def, email{"ada"})
		if name := tt.def.Name(); err != nil || got != tt.want || name != tt.def.Wire().Name {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, tt.want)
		}
	}
	if fmt.Sprint(sent) != "[ada2 ada2]" {
		t.Errorf("sent %v", sent)
	}
}

func TestDeclaredHasNoHandler(t *testing.T) {
	t.Parallel()
	for _, def := range []cyclone.Definition{
		cyclone.DeclareAction[email]("a"), cyclone.DeclareStep[email, int]("s"), cyclone.DeclareTask[email, int]("t"),
	} {
		if def.Wire().Invoke != nil {
			t.Errorf("%s has a handler", def.Name())
		}
	}
}

func TestHandlerErrors(t *testing.T) {
	t.Parallel()
	step := cyclone.NewStep("step", func(_ cyclone.Context, in email) (int, error) {
		return 7, cyclone.Permanent(errors.New("no such address"))
	})
	if out, err := run(t, newAttempt(t, 1), step, email{}); out != nil || err == nil {
		t.Errorf("failed handler: got %v, %v", out, err)
	}
	_, err := run(t, newAttempt(t, 1), step, "not an email")
	var decode *wire.DecodeError
	if !errors.As(err, &decode) || decode.Kind != "step" {
		t.Errorf("bad input: got %v, want a DecodeError", err)
	}
	if _, err := run(t, t.Context(), step, email{}); err == nil || !strings.Contains(err.Error(), "carries no attempt") {
		t.Errorf("outside an attempt: got %v", err)
	}
}

// ownContext is a context type that no worker can make.
type ownContext struct{ context.Context }

func TestSpec_C08_BadDefinitionsPanic(t *testing.T) {
	t.Parallel()
	negative := cyclone.RetryPolicy{Delays: []time.Duration{time.Second, 0}}
	var nilAction func(cyclone.Context, email) error
	var nilStep func(cyclone.Context, email) (int, error)
	foreign := func(ownContext, email) (int, error) { return 0, nil }
	handled := cyclone.NewAction("handled", sendNothing)

	tests := map[string]func(){
		`NewAction "x": max attempts 0: must be 1 to 10000`:    func() { cyclone.NewAction("x", sendNothing, cyclone.WithMaxAttempts(0)) },
		`NewStep "x": max attempts -1: must be 1 to 10000`:     func() { cyclone.NewStep("x", countBytes, cyclone.WithMaxAttempts(-1)) },
		`NewTask "x": max attempts 0`:                          func() { cyclone.HandlerFunc(countBytes).Define("x", cyclone.WithMaxAttempts(0)) },
		`DeclareAction "x": max attempts 0`:                    func() { cyclone.DeclareAction[email]("x", cyclone.WithMaxAttempts(0)) },
		`DeclareStep "x": max attempts 0`:                      func() { cyclone.DeclareStep[email, int]("x", cyclone.WithMaxAttempts(0)) },
		`DeclareTask "x": max attempts 0`:                      func() { cyclone.DeclareTask[email, int]("x", cyclone.WithMaxAttempts(0)) },
		`NewAction "": name ""`:                                func() { cyclone.NewAction("", sendNothing) },
		`NewAction "a b": name "a b": must be 1 to 64 letters`: func() { cyclone.NewAction("a b", sendNothing) },
		`delays[1] 0s`:             func() { cyclone.NewAction("x", sendNothing, cyclone.Retry(negative)) },
		`max attempts -2`:          func() { cyclone.NewAction("x", sendNothing, cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: -2})) },
		`queue "{q}"`:              func() { cyclone.NewAction("x", sendNothing, cyclone.WithQueue("{q}")) },
		`backoff: must not be nil`: func() { cyclone.NewAction("x", sendNothing, cyclone.WithBackoff(nil)) },
		`lost cap 0`:               func() { cyclone.NewAction("x", sendNothing, cyclone.WithLostCap(0)) },
		`lost attempts 7`:          func() { cyclone.NewAction("x", sendNothing, cyclone.WithLostAttempts(7)) },
		`alias "x": given twice, or the name itself`: func() { cyclone.NewAction("x", sendNothing, cyclone.WithAlias("x")) },
		`option is nil`:                                         func() { cyclone.NewAction("x", sendNothing, nil) },
		`NewAction "x": the handler is nil`:                     func() { cyclone.NewAction("x", nilAction) },
		`NewStep "x": the handler is nil`:                       func() { cyclone.NewStep("x", nilStep) },
		`NewTask "x": the handler is nil`:                       func() { cyclone.NewTask("x", cyclone.HandlerFunc(nilStep)) },
		`NewTask "x": the handler is empty`:                     func() { cyclone.NewTask("x", cyclone.Handler[email, int]{}) },
		`must be cyclone.Context or context.Context`:            func() { cyclone.NewStep("x", foreign) },
		`NewTask "x": the handler takes a cyclone_test.ownCont`: func() { cyclone.NewTask("x", cyclone.HandlerFunc(foreign)) },
		`Handle "handled": there is a handler already`:          func() { handled.Handle(sendNothing) },
	}
	for want, define := range tests {
		if err := panicOf(t, define); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("panic %v, want one with %q", err, want)
		}
	}
}

func TestDefinitionPanicNamesEverythingBad(t *testing.T) {
	t.Parallel()
	err := panicOf(t, func() {
		cyclone.NewAction("?", sendNothing, cyclone.WithMaxAttempts(0), cyclone.WithQueue(""), cyclone.WithLostCap(-1))
	})
	for _, part := range []string{`name "?"`, "max attempts 0", `queue ""`, "lost cap -1"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("panic %v does not name %s", err, part)
		}
	}
}

func TestSpec_R03_PolicyOfADefinition(t *testing.T) {
	t.Parallel()
	standard := retry.Policy{MaxAttempts: 9, Delays: []time.Duration{time.Hour}}
	delays := []time.Duration{time.Second}
	tests := []struct {
		policy       cyclone.RetryPolicy
		wantAttempts int
		wantDelay    time.Duration
	}{
		{cyclone.RetryPolicy{MaxAttempts: 3, Delays: delays}, 3, time.Second},
		{cyclone.RetryPolicy{MaxAttempts: 3}, 3, time.Hour},
		{cyclone.RetryPolicy{Delays: delays}, 9, time.Second},
		{cyclone.RetryPolicy{}, 9, time.Hour},
	}
	for _, tt := range tests {
		def := cyclone.HandlerFunc(countBytes).Define("create-account", cyclone.Retry(tt.policy))
		rule := def.Wire().Rule(&wire.Options{}, standard, 0)
		if rule.MaxAttempts != tt.wantAttempts || len(rule.Delays) != 1 || rule.Delays[0] != tt.wantDelay {
			t.Errorf("%+v: got %+v", tt.policy, rule)
		}
	}
	def := cyclone.HandlerFunc(countBytes).Define("create-account", cyclone.Retry(cyclone.RetryPolicy{Delays: delays}))
	if delays[0] = 0; def.Wire().Options.Delays[0] != time.Second {
		t.Error("the definition shares the caller's slice")
	}
}

func TestSpec_C10_BackoffOfADefinition(t *testing.T) {
	t.Parallel()
	def := cyclone.NewAction("send_sms", sendNothing, cyclone.WithBackoff(func(attempt int) time.Duration {
		return time.Duration(attempt) * time.Second
	}))
	rule := def.Wire().Rule(&wire.Options{}, retry.Policy{Delays: []time.Duration{time.Hour}}, 1)
	if d := retry.Decide(rule, 3, io.EOF, 0.9); d.Delay != 3*time.Second {
		t.Errorf("wait after attempt 3 is %v, want 3s", d.Delay)
	}
}

func TestDefinitionOnlyOptions(t *testing.T) {
	t.Parallel()
	action := cyclone.NewAction("x", sendNothing, cyclone.WithLostAttempts(cyclone.CountLost), cyclone.WithLostCap(3), cyclone.WithAlias("y", "z"))
	if def := action.Wire(); !def.CountsLost() || def.MaxLost() != 3 || fmt.Sprint(def.Aliases) != "[y z]" {
		t.Errorf("got %+v", def)
	}
	task := cyclone.NewTask("x", cyclone.HandlerFunc(countBytes), cyclone.WithLostAttempts(cyclone.RestartLost))
	if task.Wire().CountsLost() {
		t.Error("the task counts lost attempts although it was told not to")
	}
}
