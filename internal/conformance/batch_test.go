package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
)

func TestSpec_C08_BadMaxAttemptsIsRejected(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt} {
		if err := panics(func() { fails(nil, 0, cyclone.WithMaxAttempts(n)) }); err == nil || !strings.Contains(err.Error(), "attempts") {
			t.Errorf("NewAction with %d attempts: %v, want a panic that says so", n, err)
		}
		err := panics(func() {
			cyclone.NewStep("step", func(cyclone.Context, string) (string, error) { return "", nil }, cyclone.WithMaxAttempts(n))
		})
		if err == nil || !strings.Contains(err.Error(), "attempts") {
			t.Errorf("NewStep with %d attempts: %v, want a panic that says so", n, err)
		}
	}
	lab.Each(t, func(l *lab.Lab) {
		ctx, c := context.Background(), l.Client()
		action := cyclone.DeclareAction[string]("action")
		step := cyclone.DeclareStep[string, string]("step")
		task := cyclone.DeclareTask[string, string]("task")
		lab.Enqueue(l, action, "")
		before := l.Snapshot()
		for _, n := range []int{0, -1} {
			bad := cyclone.WithMaxAttempts(n)
			_, err1 := cyclone.EnqueueAction(ctx, c, action, "", bad)
			_, err2 := cyclone.EnqueueStep(ctx, c, step, "", bad)
			_, err3 := cyclone.EnqueueTask(ctx, c, task, "", bad)
			_, err4 := cyclone.EnqueueMany(ctx, c, action.With(""), action.With("", bad))
			_, err5 := cyclone.EnqueueJSON(ctx, c, "action", []byte(`""`), bad)
			_, err6 := c.Enqueue(ctx, action.With(""), action.With("", bad))
			for i, err := range []error{err1, err2, err3, err4, err5, err6} {
				if err == nil || !strings.Contains(err.Error(), "attempts") {
					l.Errorf("enqueue function %d with %d attempts returned %v, want an error that says so", i+1, n, err)
				}
			}
		}
		l.Same(before)
	})
}

// Whatever a caller gives that is bad is refused before anything is written, and
// a batch with one bad request as a whole.
func TestBadInputIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		lab.Enqueue(l, cyclone.DeclareAction[string]("job"), "there is something")
		before := l.Snapshot()
		for name, request := range badRequests() {
			good := cyclone.DeclareAction[string]("job").With("good")
			receipts, err := l.Client().Enqueue(context.Background(), good, request, good)
			var batch *cyclone.BatchError
			if !errors.As(err, &batch) || len(batch.Errors) != 3 || batch.Errors[0] != nil || batch.Errors[1] == nil || batch.Errors[2] != nil {
				l.Errorf("%s: error %v, want a BatchError about the second request alone", name, err)
			}
			for _, r := range receipts {
				if r.ID != 0 {
					l.Errorf("%s: run %v was made", name, r.ID)
				}
			}
		}
		l.Same(before)
	})
}

// badRequests returns one request for each way of being bad.
func badRequests() map[string]cyclone.Request {
	job := cyclone.DeclareAction[any]("job")
	cycle := map[string]any{}
	cycle["self"] = cycle
	deep := any("x")
	for range 100 {
		deep = []any{deep}
	}
	long := strings.Repeat("x", 2000)
	bad := map[string]cyclone.Request{
		"zero request":         {},
		"channel as input":     job.With(make(chan int)),
		"function as input":    job.With(func() {}),
		"input with a cycle":   job.With(cycle),
		"input too deep":       job.With(deep),
		"input too large":      job.With(strings.Repeat("x", 1<<20)),
		"nil option":           job.With("", nil),
		"zero attempts":        job.With("", cyclone.WithMaxAttempts(0)),
		"too many attempts":    job.With("", cyclone.WithMaxAttempts(10_001)),
		"delay of retry":       job.With("", cyclone.Retry(cyclone.RetryPolicy{Delays: []time.Duration{-1}})),
		"negative delay":       job.With("", cyclone.WithDelay(-1)),
		"delay of centuries":   job.With("", cyclone.WithDelay(math.MaxInt64)),
		"zero start":           job.With("", cyclone.WithStartAt(time.Time{})),
		"late start":           job.With("", cyclone.WithStartAt(time.Date(2150, 1, 1, 0, 0, 0, 0, time.UTC))),
		"start and delay":      job.With("", cyclone.WithStartAt(time.Now()), cyclone.WithDelay(1)),
		"zero expiry":          job.With("", cyclone.WithExpiry(0)),
		"zero timeout":         job.With("", cyclone.WithTimeout(0)),
		"negative retention":   job.With("", cyclone.WithRetention(-1)),
		"priority":             job.With("", cyclone.WithPriority(3)),
		"long unique key":      job.With("", uniqueBy(long)),
		"zero duration of key": job.With("", cyclone.WithUnique(cyclone.Unique{Key: "k", Scope: cyclone.For(0)})),
		"conflict rule":        job.With("", cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: 3})),
		"replace by duration":  job.With("", cyclone.WithUnique(cyclone.Unique{Key: "k", Scope: cyclone.For(time.Hour), OnConflict: cyclone.Replace})),
		"empty request key":    job.With("", cyclone.WithRequestKey("")),
		"long request key":     job.With("", cyclone.WithRequestKey(long)),
		"both keys":            job.With("", cyclone.WithRequestKey("r"), uniqueBy("u")),
		"zero replicas":        job.With("", cyclone.WaitReplicas(0)),
		"meta without key":     job.With("", cyclone.WithMeta("", "v")),
		"meta too large":       job.With("", cyclone.WithMeta("k", strings.Repeat("v", 1<<15))),
		"meta not UTF-8":       job.With("", cyclone.WithMeta("k", "\xff")),
	}
	for _, name := range []string{"", " ", "{0}", "a:b", "a*", "a\nb", "-a", "ü", "a\x00", strings.Repeat("q", 65), "../etc"} {
		bad[fmt.Sprintf("queue %q", name)] = job.With("", cyclone.WithQueue(name))
	}
	return bad
}

// JSON is checked before it is stored.
func TestBadJSONIsRefused(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		lab.Enqueue(l, cyclone.DeclareAction[string]("job"), "there is something")
		before := l.Snapshot()
		ctx, c := context.Background(), l.Client()
		for _, text := range []string{"", "{", `{"a":}`, `"a" "b"`, strings.Repeat("[", 100) + strings.Repeat("]", 100), `"` + strings.Repeat("x", 1<<20) + `"`} {
			if _, err := cyclone.EnqueueJSON(ctx, c, "job", []byte(text)); err == nil {
				l.Errorf("%.20q of %d bytes was accepted", text, len(text))
			}
		}
		for _, kind := range []string{"", "a:b", "{0}", strings.Repeat("k", 65)} {
			if _, err := cyclone.EnqueueJSON(ctx, c, kind, []byte("1")); err == nil {
				l.Errorf("kind %q was accepted", kind)
			}
		}
		l.Same(before)
	})
}

// A batch of any size and mix is stored, each request with its own answer.
func TestBulkEnqueue(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 3000
		job := cyclone.DeclareAction[string]("job")
		requests := make([]cyclone.Request, 0, n)
		for i := range n {
			opts := []cyclone.EnqueueOption{cyclone.WithQueue(fmt.Sprintf("q%d", i%3)), cyclone.WithPriority(cyclone.Priority(i % 2))}
			switch {
			case i%7 == 0:
				opts = append(opts, cyclone.WithDelay(time.Hour))
			case i%11 == 0:
				opts = append(opts, uniqueBy(fmt.Sprint(i)))
			}
			requests = append(requests, job.With(strings.Repeat("x", i), opts...))
		}
		runs, err := cyclone.EnqueueMany(context.Background(), l.Client(), requests...)
		if err != nil {
			l.Fatal(err)
		}
		seen := map[cyclone.RunID]bool{}
		for i, run := range runs {
			if run == nil || run.Existing() || seen[run.ID()] {
				l.Fatalf("request %d: run %+v", i, run)
			}
			seen[run.ID()] = true
		}
		if l.Count() != n {
			l.Errorf("%d steps are stored, want %d", l.Count(), n)
		}
		for _, i := range []int{0, 1, 6, 11, n - 1} {
			s := l.Step(runs[i].ID())
			want := cyclone.StepReady
			if i%7 == 0 {
				want = cyclone.StepScheduled
			}
			if s.State != want || s.Queue != fmt.Sprintf("q%d", i%3) || len(s.Payload) < i {
				l.Errorf("step %d is %s in %s with %d bytes", i, s.State, s.Queue, len(s.Payload))
			}
		}
	})
}

// Requests that fail later are told apart from those that were stored.
func TestBatchErrorTellsPerRequest(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		job := cyclone.DeclareAction[string]("job")
		reject := cyclone.WithUnique(cyclone.Unique{Key: "k", OnConflict: cyclone.Reject})
		holder := lab.Enqueue(l, job, "", reject)
		runs, err := cyclone.EnqueueMany(context.Background(), l.Client(),
			job.With("1"), job.With("2", reject), job.With("3"), job.With("4", reject))
		var batch *cyclone.BatchError
		var duplicate *cyclone.DuplicateError
		if !errors.As(err, &batch) || !errors.As(batch.Errors[1], &duplicate) || duplicate.Holder != holder || batch.Errors[0] != nil || batch.Errors[2] != nil {
			l.Fatalf("error %v, want a BatchError with DuplicateErrors for the second and fourth", err)
		}
		if runs[0] == nil || runs[1] != nil || runs[2] == nil || runs[3] != nil {
			l.Errorf("runs %v, want the first and the third", runs)
		}
		if l.Count() != 3 || l.State(runs[0].ID()) != cyclone.StepReady || l.State(runs[2].ID()) != cyclone.StepReady {
			l.Errorf("%d steps are stored, want the holder and the two that were accepted", l.Count())
		}
	})
}

// Callers that enqueue one by one at the same time each get their own run.
func TestConcurrentEnqueues(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const callers, each = 20, 50
		ids := make(chan cyclone.RunID, callers*each)
		done := make(chan struct{})
		for caller := range callers {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := range each {
					run, err := again(l, fmt.Sprint(caller, i))
					if err != nil {
						l.Error(err)
						return
					}
					ids <- run.ID()
				}
			}()
		}
		for range callers {
			<-done
		}
		close(ids)
		seen := map[cyclone.RunID]bool{}
		for id := range ids {
			seen[id] = true
		}
		if len(seen) != callers*each || l.Count() != callers*each {
			l.Errorf("%d runs and %d stored steps, want %d", len(seen), l.Count(), callers*each)
		}
	})
}

// A context that is done before the call means that nothing was written.
func TestEnqueueWithDoneContext(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		lab.Enqueue(l, cyclone.DeclareAction[string]("job"), "")
		before := l.Snapshot()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := cyclone.EnqueueAction(ctx, l.Client(), cyclone.DeclareAction[string]("job"), "")
		if !errors.Is(err, context.Canceled) || errors.Is(err, cyclone.ErrUnknownOutcome) {
			l.Errorf("error %v, want the context's and no unknown outcome", err)
		}
		l.Same(before)
	})
}

func TestClosedClient(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c, _, _ := l.NewClient(l.Config())
		if err := c.Close(); err != nil {
			l.Fatal(err)
		}
		_, err := cyclone.EnqueueAction(context.Background(), c, cyclone.DeclareAction[string]("job"), "")
		if !errors.Is(err, queue.ErrClosed) {
			l.Errorf("error %v, want ErrClosed", err)
		}
		if err := c.Close(); err != nil {
			l.Errorf("the second Close returned %v", err)
		}
		if keys := l.Keys(); len(keys) > 0 {
			l.Errorf("a client that did nothing left %v", keys)
		}
	})
}
