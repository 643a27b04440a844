package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

func TestClassDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		class     wire.Class
		name      string
		attempts  int
		retention time.Duration
		counts    bool
	}{
		{wire.ClassAction, "action", 5, 0, false},
		{wire.ClassStep, "step", 5, time.Hour, false},
		{wire.ClassTask, "task", 4, time.Hour, true},
	}
	for _, tt := range tests {
		def := wire.Definition{Name: "x", Class: tt.class}
		if got := tt.class.String(); got != tt.name {
			t.Errorf("name %q, want %q", got, tt.name)
		}
		if got := tt.class.MaxAttempts(); got != tt.attempts {
			t.Errorf("%s: %d attempts, want %d", tt.name, got, tt.attempts)
		}
		if got := tt.class.Retention(); got != tt.retention {
			t.Errorf("%s: retention %v, want %v", tt.name, got, tt.retention)
		}
		if got := def.CountsLost(); got != tt.counts || def.MaxLost() != 10 {
			t.Errorf("%s: counts lost %v, cap %d", tt.name, got, def.MaxLost())
		}
	}
}

func TestLostSettingsWin(t *testing.T) {
	t.Parallel()
	task := wire.Definition{Class: wire.ClassTask, LostSet: true, LostCap: 3}
	action := wire.Definition{Class: wire.ClassAction, LostSet: true, CountLost: true}
	if task.CountsLost() || task.MaxLost() != 3 || !action.CountsLost() {
		t.Errorf("task counts %v, cap %d; action counts %v", task.CountsLost(), task.MaxLost(), action.CountsLost())
	}
}

func TestRulePrecedence(t *testing.T) {
	t.Parallel()
	table := func(d time.Duration) []time.Duration { return []time.Duration{d} }
	minute := func(int) time.Duration { return time.Minute }
	settings := func(n int, d time.Duration) wire.Options {
		return wire.Options{Set: wire.FieldMaxAttempts | wire.FieldDelays, MaxAttempts: n, Delays: table(d)}
	}
	standard := retry.Policy{MaxAttempts: 9, Delays: table(9)}
	tests := []struct {
		name     string
		def      wire.Definition
		given    wire.Options
		standard retry.Policy
		want     retry.Rule
		backoff  bool
	}{
		{name: "class", def: wire.Definition{Class: wire.ClassTask}, want: retry.Rule{MaxAttempts: 4}},
		{name: "worker", standard: standard, want: retry.Rule{MaxAttempts: 9, Delays: table(9)}},
		{name: "definition", def: wire.Definition{Options: settings(2, 2)}, standard: standard,
			want: retry.Rule{MaxAttempts: 2, Delays: table(2)}},
		{name: "enqueue", def: wire.Definition{Options: settings(2, 2)}, given: settings(1, 1), standard: standard,
			want: retry.Rule{MaxAttempts: 1, Delays: table(1)}},
		{name: "backoff over worker", def: wire.Definition{Backoff: minute}, standard: standard,
			want: retry.Rule{MaxAttempts: 9, Delays: table(9)}, backoff: true},
		{name: "enqueue over backoff", def: wire.Definition{Backoff: minute}, given: settings(1, 1),
			want: retry.Rule{MaxAttempts: 1, Delays: table(1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.Jitter = 0.3
			got := tt.def.Rule(&tt.given, tt.standard, 0.3)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(retry.Rule{}, "Backoff")); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
			if (got.Backoff != nil) != tt.backoff {
				t.Errorf("backoff set: %v, want %v", got.Backoff != nil, tt.backoff)
			}
		})
	}
}

func TestDefinitionValidate(t *testing.T) {
	t.Parallel()
	good := wire.Definition{Name: "send_email", Aliases: []string{"mail", "send-mail"}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := wire.Definition{
		Name: "send email", Aliases: []string{"", "a", "a", "send email"},
		Options: wire.Options{Set: wire.FieldDelays | wire.FieldQueue, Delays: []time.Duration{1}, Queue: "?"},
		Backoff: retry.Constant(1),
	}
	bad.Reject(io.EOF)
	err := bad.Validate()
	if !errors.Is(err, io.EOF) {
		t.Fatalf("%v does not hold the rejected option", err)
	}
	for _, part := range []string{`name "send email"`, `alias ""`, `alias "a": given twice`, `alias "send email": given twice`, `queue "?"`, "not both"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %s:\n%v", part, err)
		}
	}
}

func TestDecodeErrorDiscards(t *testing.T) {
	t.Parallel()
	err := error(&wire.DecodeError{Kind: "send_email", Err: retry.After(io.EOF, 1)})
	if d := retry.Decide(retry.Rule{}, 1, err, 0); d.Outcome != retry.OutcomeDiscard || d.Code != retry.CodeDecode {
		t.Errorf("got %+v", d)
	}
	if !errors.Is(err, io.EOF) || err.Error() != "decode input of send_email: EOF" {
		t.Errorf("got %v", err)
	}
}

func TestSpecDefaults(t *testing.T) {
	t.Parallel()
	def := wire.Definition{Class: wire.ClassStep, Options: wire.Options{Set: wire.FieldQueue, Queue: "mail"}}
	known, unknown := wire.Spec{Def: &def}, wire.Spec{}
	if o := known.Effective(); known.Class() != wire.ClassStep || o.QueueName() != "mail" {
		t.Errorf("known: class %v, queue %q", known.Class(), o.QueueName())
	}
	if o := unknown.Effective(); unknown.Class() != wire.ClassAction || o.QueueName() != "default" {
		t.Errorf("unknown: class %v, queue %q", unknown.Class(), o.QueueName())
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reopen   wire.Reopen
		attempts int
		bad      string
	}{
		{wire.Reopen{}, 1, ""},
		{wire.Reopen{Additional: 3, AdditionalSet: true, Reason: "recovered"}, 3, ""},
		{wire.Reopen{AdditionalSet: true}, 0, "additional attempts 0"},
		{wire.Reopen{Reason: strings.Repeat("x", 1025)}, 1, "reason of 1025 bytes"},
	}
	for _, tt := range tests {
		err := tt.reopen.Validate()
		if (err != nil) != (tt.bad != "") || (err != nil && !strings.Contains(err.Error(), tt.bad)) {
			t.Errorf("%+v: error %v", tt.reopen, err)
		}
		if got := tt.reopen.Attempts(); got != tt.attempts {
			t.Errorf("%+v: %d attempts", tt.reopen, got)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	if got := wire.IdempotencyKey(12345, "send_email"); got != "12345:send_email" {
		t.Errorf("got %q", got)
	}
}
