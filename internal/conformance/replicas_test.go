package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// WaitReplicas needs a real replica: the embedded server has none.
func TestWaitReplicas(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, primary *testserver.RealServer) {
		t.Parallel()
		l := lab.New(t, primary.Server, lab.Configure(queue.Config{ReplicaTimeout: 500 * time.Millisecond}))
		ctx := context.Background()
		action := cyclone.DeclareAction[string]("job")
		run, err := cyclone.EnqueueAction(ctx, l.Client(), action, "alone", cyclone.WaitReplicas(1))
		if !errors.Is(err, cyclone.ErrNotReplicated) || run == nil || l.State(run.ID()) != cyclone.StepReady {
			l.Fatalf("without a replica: run %v, error %v; want ErrNotReplicated and the run, which is stored", run, err)
		}
		host, port, _ := net.SplitHostPort(primary.Addr())
		replica := primary.Another("--replicaof", host, port)
		follower := replica.NewClient(t)
		l.Until("the replica follows", func() bool {
			pipe := l.Redis.Pipeline() // WAIT counts what its own connection wrote
			pipe.Set(ctx, "probe", 1, 0)
			confirmed := pipe.Do(ctx, "WAIT", 1, 100)
			_, err := pipe.Exec(ctx)
			n, _ := confirmed.Int()
			return err == nil && n == 1
		})
		run, err = cyclone.EnqueueAction(ctx, l.Client(), action, "together", cyclone.WaitReplicas(1))
		if err != nil {
			l.Fatalf("with a replica: %v", err)
		}
		if ok, err := follower.HExists(ctx, l.Key(run.ID(), "steps"), run.ID().String()).Result(); err != nil || !ok {
			l.Errorf("the replica has the step: %v (%v)", ok, err)
		}
		if _, err = cyclone.EnqueueAction(ctx, l.Client(), action, "too many", cyclone.WaitReplicas(2)); !errors.Is(err, cyclone.ErrNotReplicated) {
			l.Errorf("with one of two replicas: %v, want ErrNotReplicated", err)
		}
		// A batch in which one request waits does not fail the others.
		receipts, err := l.Client().Enqueue(ctx, action.With("plain"), action.With("waits", cyclone.WaitReplicas(2)))
		if err == nil || receipts[0].Err != nil || !errors.Is(receipts[1].Err, cyclone.ErrNotReplicated) || receipts[1].ID == 0 {
			l.Errorf("a mixed batch: %+v (%v)", receipts, err)
		}
		for _, nodes := range []int{1, 450} {
			run, err := waiting(nodes).Enqueue(ctx, patient(l))
			if err != nil {
				l.Fatalf("a run of %d nodes: %v", nodes, err)
			}
			if ok, err := follower.HExists(ctx, l.Key(run.ID(), "steps"), run.ID().String()).Result(); err != nil || !ok {
				l.Errorf("the replica has the run of %d nodes: %v (%v)", nodes, ok, err)
			}
			if err := l.Client().Delete(ctx, run.ID()); err != nil {
				l.Error(err)
			}
		}
		replica.Stop() // its link stays open, and nothing is confirmed
		if _, err = cyclone.EnqueueAction(ctx, l.Client(), action, "frozen", cyclone.WaitReplicas(1)); !errors.Is(err, cyclone.ErrNotReplicated) {
			l.Errorf("with a frozen replica: %v, want ErrNotReplicated", err)
		}
		replica.Cont()
		l.Start(worker.Config{}, cyclone.NewAction("job", func(cyclone.Context, string) error { return nil }))
		l.UntilEmpty()
	}, "--repl-diskless-sync-delay", "0")
}

// waiting is a workflow of so many nodes that nobody serves.
func waiting(nodes int) *workflow.Builder {
	b := workflow.New("flow")
	for i := range nodes {
		workflow.Do(b, fmt.Sprint("n", i), cyclone.DeclareAction[int]("job"), workflow.Value(i), cyclone.WithQueue("unserved"))
	}
	return b
}

// patient returns a client whose middleware has everything confirmed by a replica.
func patient(l *lab.Lab) *queue.Client {
	l.Helper()
	client, _, _ := l.NewClient(queue.Config{Middleware: []func(queue.EnqueueFunc) queue.EnqueueFunc{
		func(next queue.EnqueueFunc) queue.EnqueueFunc {
			return func(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
				return next(ctx, requests[0].With(cyclone.WaitReplicas(1)))
			}
		},
	}})
	return client
}
