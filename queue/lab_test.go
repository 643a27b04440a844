package queue

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// lab is a deployment under test: a client, and the hands of one worker.
type lab struct {
	*testing.T
	ctx    context.Context
	server testserver.Server
	client *Client
	store  *Store
}

// mail is what most tests enqueue.
var mail = cyclone.DeclareStep[string, string]("mail")

// everywhere runs f on every kind of server, with one partition and with four.
func everywhere(t *testing.T, f func(l *lab)) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run("partitions="+strconv.Itoa(partitions), func(t *testing.T) {
			t.Parallel()
			testserver.Each(t, func(t *testing.T, s testserver.Server) {
				t.Parallel()
				f(newLab(t, s, Config{Partitions: partitions}))
			})
		})
	}
}

func newLab(t *testing.T, s testserver.Server, cfg Config, opts ...cyclone.ClientOption) *lab {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	l := &lab{T: t, ctx: ctx, server: s}
	cfg.Prefix = s.Prefix
	l.client = l.open(cfg, opts...)
	_, err := l.client.join(l.ctx)
	l.ok(err)
	l.store = NewStore(l.client, "w1")
	return l
}

// open returns one more client of the deployment.
func (l *lab) open(cfg Config, opts ...cyclone.ClientOption) *Client {
	l.Helper()
	cfg.Prefix = l.server.Prefix
	c, err := NewClient(l.server.NewClient(l), cfg, opts...)
	l.ok(err)
	l.Cleanup(func() { _ = c.Close() })
	return c
}

func (l *lab) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// enqueue enqueues one step of mail.
func (l *lab) enqueue(input string, opts ...cyclone.EnqueueOption) cyclone.RunID {
	l.Helper()
	receipts, err := l.client.Enqueue(l.ctx, mail.With(input, opts...))
	l.ok(err)
	return receipts[0].ID
}

// claimLease is the lease of the lab's claims.
const claimLease = 30 * time.Second

// turn makes one turn on every partition, as worker w1.
func (l *lab) turn(queue string, n int, settle ...Settlement) (claimed []Claimed) {
	l.Helper()
	d, err := l.client.join(l.ctx)
	l.ok(err)
	for p := range d.parts {
		req := &TurnRequest{Partition: p, Lease: claimLease, Wanted: n, Queues: []Room{{queue, n}}}
		for _, st := range settle {
			if st.Claim.partition == p {
				req.Settle = append(req.Settle, st)
			}
		}
		for lane := range laneCount {
			req.Claim = append(req.Claim, Quota{queue, cyclone.Priority(lane), n})
		}
		reply, err := l.store.Turn(l.ctx, req)
		l.ok(err)
		claimed = append(claimed, reply.Claimed...)
	}
	return claimed
}

// claim claims all that is ready in the default queue, by id.
func (l *lab) claim() map[cyclone.RunID]*Claimed {
	l.Helper()
	all := make(map[cyclone.RunID]*Claimed)
	for _, c := range l.turn("default", 100) {
		all[c.ID] = &c
	}
	return all
}

// settle ends claims and claims nothing.
func (l *lab) settle(settle ...Settlement) {
	l.Helper()
	l.turn("default", 0, settle...)
}

// fail is a failure of the claim's current attempt.
func (l *lab) failure(c *Claimed, text string) Failure {
	return Failure{
		Attempt: c.Envelope.Failures + 1, Failures: 1, Code: "error", Error: text, Stack: "main.go:1", Worker: "w1", At: l.client.clock.now(),
	}
}

func (l *lab) complete(c *Claimed, output string, keep time.Duration) {
	l.Helper()
	codec, b, err := l.client.Encode(output)
	l.ok(err)
	l.settle(Complete(c, c.Envelope.Failures+1, codec, b, keep, l.client.clock.now()))
}

// passMillisecond returns in a later millisecond of Redis' clock.
func (l *lab) passMillisecond() {
	l.Helper()
	for first := l.redisMS(); l.redisMS() == first; {
		time.Sleep(time.Millisecond)
	}
}

func (l *lab) redisMS() int64 {
	l.Helper()
	now, err := l.server.Client.Time(l.ctx).Result()
	l.ok(err)
	return now.UnixMilli()
}

// discard claims the step and lets it fail for good.
func (l *lab) discard(ids ...cyclone.RunID) {
	l.Helper()
	claims := l.claim()
	for _, id := range ids {
		if claims[id] == nil {
			l.Fatalf("run %v is not ready", id)
		}
		l.settle(Discard(claims[id], l.failure(claims[id], "boom")))
	}
	for id, c := range claims {
		if !slices.Contains(ids, id) {
			l.settle(GiveBack(c))
		}
	}
}

// part is the partition of a run.
func (l *lab) part(id cyclone.RunID) *partition { return l.client.space.Load().of(int64(id)) }

// step returns the one step of a run.
func (l *lab) step(id cyclone.RunID) cyclone.StepInfo {
	l.Helper()
	steps, err := l.client.ListSteps(l.ctx, id)
	l.ok(err)
	if len(steps) != 1 {
		l.Fatalf("run %v has %d steps", id, len(steps))
	}
	return steps[0]
}

func (l *lab) wantState(id cyclone.RunID, want cyclone.StepState) {
	l.Helper()
	if got := l.step(id).State; got != want {
		l.Errorf("run %v is %s, want %s", id, got, want)
	}
}

// fixedKeys stay when no step is left: counters, sessions, the list of queues, and
// the paddings of what is empty.
var fixedKeys = []string{"meta", "ids", "sess", "sessx", "stats", "queues", "leased", "subs"}

// baseName is the name of a key without prefix, partition and queue.
func baseName(key string) string {
	parts := strings.Split(key, ":")
	if len(parts) == 2 {
		return parts[1]
	}
	return parts[2]
}

// zAt is a member of a due index.
func zAt(at time.Time, member string) redis.Z {
	return redis.Z{Score: float64(at.UnixMilli() * scoreUnit), Member: member}
}

// names returns the sorted names of a table, so that dice choose alike each time.
func (l *lab) names(table map[string]func()) []string { return slices.Sorted(maps.Keys(table)) }
