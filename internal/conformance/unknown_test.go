package conformance_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

var panickyBackoff = cyclone.WithBackoff(func(int) time.Duration { panic("no idea") })

// A kind that the worker does not know is put back for a worker that does.
func TestUnknownKindIsPutBack(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("new-kind", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		})
		old := l.Start(worker.Config{})
		before := l.Now()
		id := lab.Enqueue(l, action, "")
		s := l.UntilState(id, cyclone.StepScheduled)
		if wait := s.Due.Sub(before); wait < 5*time.Second-time.Millisecond || wait > 20*time.Second {
			l.Errorf("it waits %v, want a while", wait)
		}
		if s.Failures+s.Interruptions+s.LostStarted+s.LostUnstarted+len(s.History) != 0 {
			l.Errorf("something was counted: %+v", s)
		}
		if l.Log.Count("no definition for this kind", "new-kind") != 1 {
			l.Error("nothing was logged")
		}
		_ = old.Stop()
		l.Start(worker.Config{}, action)
		if err := l.Client().RunNow(context.Background(), id); err != nil {
			l.Fatal(err)
		}
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1}) {
			l.Errorf("attempts %v, want the first one", got)
		}
	})
}

// An old and a new worker side by side: the step reaches the one that knows it,
// however often it is put back.
func TestUnknownKindReachesTheRightWorker(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("new-kind", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		}, cyclone.WithMaxAttempts(1))
		l.Start(worker.Config{})
		for range 10 {
			lab.Enqueue(l, action, "")
		}
		l.Pass(time.Minute)
		l.Start(worker.Config{}, action)
		l.Pass(10 * time.Minute) // dozens of chances for each step
		if n := len(v.All()); n != 10 || l.Count() != 0 {
			l.Errorf("%d executions and %d steps left, want 10 and 0", n, l.Count())
		}
	})
}

// Steps stored under a former name run.
func TestAliases(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		renamed := cyclone.NewAction("send-mail", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		}, cyclone.WithAlias("mail", "mailer"))
		l.Start(worker.Config{}, renamed)
		for _, name := range []string{"mail", "mailer", "send-mail"} {
			l.UntilGone(lab.Enqueue(l, cyclone.DeclareAction[string](name), ""))
		}
		if n := len(v.All()); n != 3 {
			l.Errorf("%d executions, want 3", n)
		}
	})
}

// An envelope of a newer program is left for one that can read it.
func TestNewerEnvelopeIsLeftAlone(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		})
		id := lab.Enqueue(l, action, "")
		body := []byte(l.Body(id))
		version := body[1]
		body[1] = 99
		l.SetBody(id, string(body))
		l.Start(worker.Config{}, action)
		l.Until("it is put back", func() bool { return l.State(id) == cyclone.StepScheduled })
		if got := l.Body(id); got != string(body) {
			l.Errorf("its body was changed to %q", got)
		}
		body[1] = version
		l.SetBody(id, string(body))
		if err := l.Client().RunNow(context.Background(), id); err != nil {
			l.Fatal(err)
		}
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1}) {
			l.Errorf("attempts %v, want the first one", got)
		}
	})
}

// What is no envelope, and what does not fit the input, is discarded at once and
// never reaches a handler.
func TestUnreadableStepsAreDiscarded(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		})
		broken := lab.Enqueue(l, action, "")
		l.SetBody(broken, "\xdd\xff\xff\xff\xff")
		typed := lab.Enqueue(l, cyclone.DeclareAction[int]("job"), 42)
		poisonous := lab.Enqueue(l, action, "")
		env := l.Step(poisonous).Envelope
		env.Payload = []byte("\xdd\xff\xff\xff\xff") // a list of four billion, it says
		l.SetBody(poisonous, string(env.Append(nil)))
		l.Start(worker.Config{}, action)
		for name, id := range map[string]cyclone.RunID{"broken": broken, "typed": typed, "poisonous": poisonous} {
			s := l.UntilState(id, cyclone.StepExhausted)
			if s.Envelope == nil || len(s.History) != 1 || s.History[0].Code != retry.CodeDecode {
				l.Errorf("%s: stored is %+v, want one record with code %s", name, s, retry.CodeDecode)
			}
		}
		if n := len(v.All()); n != 0 {
			l.Errorf("%d executions, want none", n)
		}
	})
}
