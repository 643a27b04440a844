package queue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// wantAudit checks what an audit finds, as "rule key member", keys without prefix.
func (l *lab) wantAudit(want ...string) AuditReport {
	l.Helper()
	report, err := l.client.Audit(l.ctx, AuditOptions{})
	l.ok(err)
	var got []string
	for _, f := range report.Findings {
		got = append(got, f.Rule+" "+f.Key[len(l.server.Prefix)+1:]+" "+f.Member)
		if f.Text == "" {
			l.Errorf("%+v: no text", f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.Errorf("findings (-want +got):\n%s\n%+v", diff, report.Findings)
	}
	return report
}

// oneOfEach makes steps in every state, with ghosts, unique keys and histories.
func (l *lab) oneOfEach() {
	l.Helper()
	unique := func(i int, scope cyclone.UniqueScope) cyclone.EnqueueOption {
		return cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprint(i), Scope: scope})
	}
	var ids []cyclone.RunID
	for i := range 8 {
		scope := cyclone.WhileUnfinished
		if i%2 == 0 {
			scope = cyclone.For(time.Hour)
		}
		ids = append(ids, l.enqueue(fmt.Sprint(i), unique(i, scope)))
	}
	claims := l.claim()
	l.complete(claims[ids[0]], "x", time.Hour)
	l.complete(claims[ids[1]], "x", 0)
	l.settle(
		Discard(claims[ids[2]], l.failure(claims[ids[2]], "no")), Retry(claims[ids[3]], l.failure(claims[ids[3]], "later"), time.Hour),
		Snooze(claims[ids[4]], 1, "w1", time.Hour, time.Now()), Release(claims[ids[5]]),
	)
	l.ok(l.client.Cancel(l.ctx, ids[5]))
	l.ok(l.client.Cancel(l.ctx, ids[6]))
	l.ok(l.client.Retry(l.ctx, ids[6], "mail"))
	l.ok(l.client.Delete(l.ctx, ids[7]))
	l.enqueue("9", cyclone.WithDelay(time.Hour), cyclone.WithQueue("other"))
	gone := l.enqueue("10", cyclone.WithPriority(cyclone.High))
	l.ok(l.client.Delete(l.ctx, gone))
	l.enqueue("11", cyclone.WithPriority(cyclone.Low))
}

func TestAuditOfAHealthyDeploymentFindsNothing(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.wantAudit()
		l.oneOfEach()
		l.crowd(2 * auditPage)
		told := 0
		report, err := l.client.Audit(l.ctx, AuditOptions{Progress: func(n int) { told = n }})
		l.ok(err)
		if len(report.Findings) != 0 || report.Steps != 2*auditPage+8 || report.Checked < 2*report.Steps || told != report.Checked {
			l.Errorf("%+v, told of %d", report, told)
		}
	})
}

// TestAuditFindsWhatIsBroken: each case breaks one thing by hand.
func TestAuditFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken func(l *lab, id string, k *partitionKeys, q *queueKeys) error
		want   []string
	}{
		"no index": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.LRem(l.ctx, q.ready[1], 0, id).Err()
		}, []string{"one index {0}:steps 1"}},
		"two indexes": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.due(q.retrying, id)
		}, []string{"one index {0}:ready:default:d 1"}},
		"twice in a list": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.LPush(l.ctx, q.ready[0], id).Err()
		}, []string{"one index {0}:ready:default:h 1"}},
		"two queues": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.due(k.queue("second").scheduled, id)
		}, []string{"one index {0}:ready:default:d 1"}},
		"no body": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HDel(l.ctx, k.steps(), id).Err()
		}, []string{"body {0}:ready:default:d 1"}},
		"no id": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.due(q.snoozed, "x")
		}, []string{"body {0}:snoozed:default x"}},
		"not readable": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.steps(), id, "\xc1").Err()
		}, []string{"readable {0}:steps 1"}},
		"other queue": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			env := Envelope{Kind: "mail", Queue: "second", EnqueuedMs: 1}
			return l.server.Client.HSet(l.ctx, k.steps(), id, env.Append(nil)).Err()
		}, []string{"queue {0}:ready:default:d 1"}},
		"unlisted queue": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HDel(l.ctx, k.queues(), "default").Err()
		}, []string{"queue list {0}:queues default"}},
		"ghost without a place": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.ghosts(), "77", "xdefault").Err()
		}, []string{"ghost {0}:steps 77"}},
		"ghost of a living step": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.ghosts(), id, "xdefault").Err()
		}, []string{"ghost {0}:ready:default:d 1"}},
		"ghost with a strange mark": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.ghosts(), "77", "y").Err()
		}, []string{"ghost {0}:ghosts 77"}},
		"score without a lane": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.Eval(l.ctx, "redis.call('LREM', KEYS[1], 0, ARGV[1]) return redis.call('ZADD', KEYS[2], 16007, ARGV[1])",
				[]string{q.ready[1], q.retrying}, id).Err()
		}, []string{"score {0}:retrying:default 1"}},
		"tries of nobody": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.tries(), "77", "0 0 0 0 0").Err()
		}, []string{"side table {0}:tries 77"}},
		"completed without a result": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.Eval(l.ctx, "redis.call('LREM', KEYS[1], 0, ARGV[1]) return redis.call('ZADD', KEYS[2], 5, ARGV[1])",
				[]string{q.ready[1], q.completed}, id).Err()
		}, []string{"result {0}:completed:default 1"}},
		"unique key of nobody": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.uniq(), "d", "77").Err()
		}, []string{"unique key {0}:uniq d"}},
		"unique key of another": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.uniqof(), id, "ud").Err()
		}, []string{"unique key {0}:uniqof 1"}},
		"unique key of a finished step": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.Eval(l.ctx, `redis.call('LREM', KEYS[1], 0, ARGV[1]) redis.call('ZADD', KEYS[2], 5, ARGV[1])
				redis.call('HSET', KEYS[3], 'd', ARGV[1]) return redis.call('HSET', KEYS[4], ARGV[1], 'sd')`,
				[]string{q.ready[1], q.discarded, k.uniq(), k.uniqof()}, id).Err()
		}, []string{"unique key {0}:uniq d"}},
		"unique key without an end": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.Eval(l.ctx, `redis.call('HSET', KEYS[1], 'd', ARGV[1]) return redis.call('HSET', KEYS[2], ARGV[1], 'dd')`,
				[]string{k.uniq(), k.uniqof()}, id).Err()
		}, []string{"unique key {0}:uniq d"}},
		"lane without an end": {func(l *lab, id string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.sess(), "client.9", "0 ").Err()
		}, []string{"session {0}:sess client.9"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testserver.Each(t, func(t *testing.T, s testserver.Server) {
				t.Parallel()
				l := newLab(t, s, Config{})
				id := l.enqueue("a")
				l.enqueue("b", cyclone.WithQueue("second"))
				l.wantAudit()
				p := l.part(id)
				l.ok(c.broken(l, id.String(), p.keys, p.keys.queue("default")))
				l.wantAudit(c.want...)
			})
		})
	}
}

// due puts a member into a due index.
func (l *lab) due(key, member string) error {
	return l.server.Client.ZAdd(l.ctx, key, zAt(time.Now(), member)).Err()
}

// TestAuditDoesNotMindTraffic: what moves while it looks is no finding.
func TestAuditDoesNotMindTraffic(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.crowd(600)
		stop := make(chan struct{})
		var traffic sync.WaitGroup
		other := &lab{T: l.T, ctx: l.ctx, server: l.server, client: l.open(Config{})}
		other.store = NewStore(other.client, "w2")
		traffic.Go(func() { other.traffic(stop) })
		for range 5 {
			l.wantAudit()
		}
		close(stop)
		traffic.Wait()
		l.wantAudit()
	})
}

// traffic enqueues, claims, settles and operates until it is stopped.
func (l *lab) traffic(stop <-chan struct{}) {
	for round := 0; ; round++ {
		select {
		case <-stop:
			return
		default:
		}
		ids := l.crowd(40)
		l.ok(l.client.Cancel(l.ctx, ids[0]))
		l.ok(l.client.Delete(l.ctx, ids[1]))
		l.ok(l.client.Retry(l.ctx, ids[0], "mail"))
		var settle []Settlement
		claimed := l.turn("default", 40)
		for i := range claimed {
			c := &claimed[i]
			switch i % 5 {
			case 0:
				settle = append(settle, Complete(c, 1, 0, nil, 0, time.Now()))
			case 1:
				settle = append(settle, Complete(c, 1, 0, nil, time.Hour, time.Now()))
			case 2:
				settle = append(settle, Retry(c, l.failure(c, "no"), time.Millisecond))
			case 3:
				settle = append(settle, Discard(c, l.failure(c, "never")))
			case 4:
				settle = append(settle, Release(c))
			}
		}
		l.settle(settle...)
	}
}
