package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a library that keeps jobs in a slice.
type memory struct {
	mu   sync.Mutex
	jobs []Job
	how  Worker
}

func (m *memory) Enqueue(ctx context.Context, job Job) error {
	return m.EnqueueMany(ctx, []Job{job})
}

func (m *memory) EnqueueMany(_ context.Context, jobs []Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs = append(m.jobs, jobs...)
	return nil
}

func (m *memory) Work(_ context.Context, how Worker) (func() error, error) {
	m.how = how
	return func() error { return nil }, nil
}

func (m *memory) Close() error { return nil }

// numbers are the numbers of all jobs, sorted, and their queues in that order.
func (m *memory) numbers() (numbers []int, queues []string) {
	slices.SortFunc(m.jobs, func(a, b Job) int { return a.Number - b.Number })
	for _, job := range m.jobs {
		numbers, queues = append(numbers, job.Number), append(queues, job.Queue)
	}
	return numbers, queues
}

func TestProduceNumbersEveryJobOnce(t *testing.T) {
	t.Parallel()
	for _, order := range []wire.Produce{
		{Jobs: 7, First: 10, Goroutines: 3, Bytes: 100, Queues: 2},
		{Jobs: 7, First: 10, Goroutines: 2, Batch: 2, Bytes: 100, Queues: 2},
		{Jobs: 7, First: 10, Goroutines: 2, Every: 1, Start: 1, Bytes: 100, Queues: 2},
	} {
		var m memory
		produced, err := produce(t.Context(), &m, order)
		if err != nil || produced.Jobs != 7 || produced.Ended < produced.Began {
			t.Errorf("%+v: %+v, %v", order, produced, err)
		}
		numbers, queues := m.numbers()
		if diff := cmp.Diff([]int{10, 11, 12, 13, 14, 15, 16}, numbers); diff != "" {
			t.Errorf("%+v: %s", order, diff)
		}
		if diff := cmp.Diff([]string{"q0", "q1", "q0", "q1", "q0", "q1", "q0"}, queues); diff != "" {
			t.Errorf("%+v: %s", order, diff)
		}
		if n := len(m.jobs[0].Payload); n != 100 {
			t.Errorf("%+v: a payload of %d bytes", order, n)
		}
	}
}

// Jobs that are sent too late carry the time at which they should have gone.
func TestPacedJobsCarryTheirOwnTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m memory
		start := time.Now().Add(time.Second).UnixNano()
		produced, err := produce(t.Context(), &m, wire.Produce{Jobs: 3, Goroutines: 2, Start: start, Every: int64(time.Second), Bytes: 40})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Duration(produced.Ended - produced.Began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		m.numbers()
		for i, job := range m.jobs {
			if at, number, err := parsePayload(job.Payload); err != nil || number != i || at != start+int64(i)*int64(time.Second) {
				t.Errorf("job %d: time %d, number %d, %v", i, at-start, number, err)
			}
		}
	})
}

func TestProduceEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m memory
		order := wire.Produce{Jobs: 10, Start: time.Now().UnixNano(), Every: int64(time.Second), Limit: 2500, Bytes: 40}
		if produced, err := produce(t.Context(), &m, order); err != nil || produced.Jobs != 4 {
			t.Errorf("%+v, %v", produced, err)
		}
	})
}

func TestAWorkerCountsAndFailsAsOrdered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m memory
		w, err := startWorker(t.Context(), &m, wire.Work{Expect: 2, FailEvery: 2, Sleep: int64(time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		text := func(number int) string { return payload(time.Now().Add(-time.Second), number, "") }
		first := m.how.Handle(t.Context(), text(4))
		if !errors.Is(first, errPlanned) {
			t.Errorf("the first attempt of job 4 ended with %v", first)
		}
		got, err := w.await(t.Context(), wire.Await{Jobs: 2, Limit: 5})
		if err != nil || got.Jobs != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		for _, number := range []int{4, 5} {
			if err := m.how.Handle(t.Context(), text(number)); err != nil {
				t.Errorf("job %d: %v", number, err)
			}
		}
		got, err = w.await(t.Context(), wire.Await{Jobs: 2, Limit: 5, Late: true})
		want := &wire.Handled{Jobs: 2, Last: time.Now().UnixNano(), Late: &wire.Late{Min: 1000, P50: 1000, P99: 1000, P999: 1000, Max: 1000}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestServeAnswersInTurns(t *testing.T) {
	t.Parallel()
	opener := func(context.Context, string, map[string]int) (Library, error) { return &memory{}, nil }
	in := strings.NewReader(`{"op":"produce","produce":{"jobs":1}}
{"op":"open","open":{"address":"here"}}
{"op":"produce","produce":{"jobs":2,"bytes":50}}
{"op":"stop"}
`)
	var out strings.Builder
	if err := Serve(t.Context(), opener, "", in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`{"error":"nothing is open"}`, `{}`, `{"produced":{"jobs":2,`, `{"error":"\"stop\" cannot be done now"}`} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d of %q is not %q", i, lines, want)
		}
	}
}
