package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/workflow"
	steps "github.com/cyclone-queue/cyclone/workflow/step"
)

// The definitions of the runs of many steps.
var (
	note = cyclone.NewAction("note", func(context.Context, string) error { return nil }, cyclone.WithQueue("mail"))

	fetch = cyclone.NewStep("fetch", func(_ context.Context, page int) (int, error) {
		if page == 7 {
			return 0, cyclone.RetryAfter(errors.New("503 \x1b[2Jcome back"), time.Hour)
		}
		return page, nil
	}, cyclone.WithQueue("mail"))

	sum = cyclone.NewAction("sum", func(context.Context, []int) error { return nil }, cyclone.WithQueue("mail"))

	signUp = cyclone.NewTask("sign_up", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
		return steps.WaitSignal[string](ctx, "confirmed", 0)
	}), cyclone.WithQueue("mail"))
)

// The runs of the scene, as the tests call them. Their real ids depend on whether a
// session lane was free in time: flowEnv translates.
const (
	runOrder   cyclone.RunID = iota + 1 // waits for a signal
	runNightly                          // a fan in which one step is retrying
	runImport                           // has failed
	runDone
	runStopped
	runSignUp // a task that waits for a signal
)

// flowEnv is an environment whose deployment holds the scene.
type flowEnv struct {
	env
	ids map[cyclone.RunID]cyclone.RunID // as the tests call it → as it is
}

func (f flowEnv) run(t testing.TB, args ...string) result {
	t.Helper()
	args = slices.Clone(args)
	for i, arg := range args {
		if id, err := cyclone.ParseRunID(arg); err == nil && f.ids[id] != 0 && !(i > 0 && strings.HasPrefix(args[i-1], "--")) {
			args[i] = f.ids[id].String()
		}
	}
	r := f.env.run(t, args...)
	for name, id := range f.ids {
		if name != id {
			column := regexp.MustCompile(`(?m)^ *` + id.String() + `\b`) // the first of a table, at its right
			r.out = column.ReplaceAllString(r.out, "  "+name.String())
			real := regexp.MustCompile(`\b` + id.String() + `\b`)
			r.out, r.err = real.ReplaceAllString(r.out, name.String()), real.ReplaceAllString(r.err, name.String())
		}
	}
	return r
}

func (f flowEnv) ok(t testing.TB, args ...string) string {
	t.Helper()
	r := f.run(t, args...)
	if r.code != ExitOK {
		t.Fatalf("%q: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

func (f flowEnv) fails(t testing.TB, code int, says string, args ...string) result {
	t.Helper()
	r := f.run(t, args...)
	if r.code != code || !strings.Contains(r.err, says) {
		t.Errorf("%q: exit %d, want %d with %q\n%s%s", args, r.code, code, says, r.out, r.err)
	}
	return r
}

// flows makes a deployment with runs of many steps in every state.
func flows(t testing.TB, s testserver.Server) flowEnv {
	t.Helper()
	c := client(t, s)
	ctx := t.Context()
	f := flowEnv{on(s), make(map[cyclone.RunID]cyclone.RunID)}
	start := func(name cyclone.RunID, b *workflow.Builder) { f.ids[name] = must(b.Enqueue(ctx, c)).ID() }
	order := workflow.New("order")
	charge := workflow.Run(order, "charge", measure, workflow.Value("card"))
	label := workflow.Run(order, "label", measure, workflow.Value("parcel"))
	approval := workflow.Wait(order, "approval", 72*time.Hour, workflow.After(charge))
	pack := workflow.Do(order, "pack", note, workflow.Value("x"), workflow.After(approval, label))
	workflow.Do(order, "ship", note, workflow.Value("x"), workflow.After(pack))
	workflow.Do(order, "tell", note, workflow.Value("x"), workflow.After(charge, pack), workflow.OnDepFailure(workflow.RunAnyway))
	start(runOrder, order)

	nightly := workflow.New("nightly")
	list := workflow.Do(nightly, "list", note, workflow.Value("x"))
	pages := make([]workflow.Ref[int], 12)
	for i := range pages {
		pages[i] = workflow.Run(nightly, fmt.Sprintf("page-%d", i), fetch, workflow.Value(i), workflow.After(list), cyclone.WithMaxAttempts(3))
	}
	workflow.Do(nightly, "total", sum, workflow.All(pages...))
	start(runNightly, nightly)

	imports := workflow.New("import")
	read := workflow.Do(imports, "read", note, workflow.Value("x"))
	check := workflow.Do(imports, "check", importRow, workflow.Value(7), workflow.After(read))
	load := workflow.Do(imports, "load", note, workflow.Value("x"), workflow.After(check))
	workflow.Do(imports, "report", note, workflow.Value("x"), workflow.After(load))
	start(runImport, imports)

	done := workflow.New("greet")
	workflow.Do(done, "hello", note, workflow.Value("x"))
	start(runDone, done)

	stopped := workflow.New("greet")
	workflow.Do(stopped, "hello", note, workflow.Value("x"), cyclone.WithDelay(time.Hour))
	start(runStopped, stopped)

	f.ids[runSignUp] = must(cyclone.EnqueueTask(ctx, c, signUp, "ada")).ID()

	type at struct {
		run  cyclone.RunID
		node string
	}
	want := map[at]cyclone.StepState{
		{runOrder, "approval"}: cyclone.StepWaiting, {runOrder, "label"}: cyclone.StepCompleted, {runNightly, "page-7"}: cyclone.StepRetrying,
		{runSignUp, "sign_up"}: cyclone.StepWaiting, {runImport, ""}: cyclone.StepExhausted, {runDone, ""}: cyclone.StepCompleted,
	}
	for i := range pages {
		if i != 7 {
			want[at{runNightly, fmt.Sprintf("page-%d", i)}] = cyclone.StepCompleted
		}
	}
	work(t, c, func(e cyclone.StepEvent) bool {
		if k := (at{f.name(e.RunID), e.Node}); want[k] == e.State {
			delete(want, k)
		}
		return len(want) == 0
	}, measure, note, fetch, sum, importRow, signUp)
	if err := c.Cancel(ctx, f.ids[runStopped]); err != nil {
		t.Fatal(err)
	}
	return f
}

// name is how the tests call a run.
func (f flowEnv) name(id cyclone.RunID) cyclone.RunID {
	for name, real := range f.ids {
		if real == id {
			return name
		}
	}
	return 0
}
