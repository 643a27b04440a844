package queue

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// TestAuditFindsWhatIsBrokenInRuns: each case breaks one thing of a run by hand. Its
// node a is discarded, in a branch of its own with b; c has completed; d is ready,
// and e and f wait for it.
func TestAuditFindsWhatIsBrokenInRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken func(l *lab, run string, k *partitionKeys, q *queueKeys) error
		want   []string
	}{
		"a node less than counted": {func(l *lab, run string, k *partitionKeys, _ *queueKeys) error {
			return l.server.Client.HIncrBy(l.ctx, k.run(run), "left", 1).Err()
		}, []string{"run {0}:run:1 1"}},
		"a ready node in no index": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.LRem(l.ctx, q.ready[1], 0, run+".3").Err()
		}, []string{"one index {0}:steps 1.3"}},
		"a blocked node in an index": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.LPush(l.ctx, q.ready[1], run+".4").Err()
		}, []string{"node {0}:ready:default:d 1.4"}},
		"a blocked node without a body": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HDel(l.ctx, k.steps(), run+".4").Err()
		}, []string{"node {0}:steps 1.4", "run {0}:run:1 1"}},
		"a cancelled node in an index": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.due(q.scheduled, run+".1")
		}, []string{"node {0}:scheduled:default 1.1"}},
		"a discarded node that is not indexed": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.ZRem(l.ctx, q.discarded, run+".0").Err()
		}, []string{"node {0}:steps 1.0"}},
		"a completed node with a body": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.steps(), run+".2", (&Envelope{Kind: "mail"}).Append(nil)).Err()
		}, []string{"node {0}:steps 1.2"}},
		"a node that nobody releases": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.run(run), "d5", 2).Err()
		}, []string{"run {0}:run:1 1"}},
		"a run without a state": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HDel(l.ctx, k.run(run), "st").Err()
		}, []string{
			"node {0}:discarded:default 1.0", "node {0}:steps 1.1", "node {0}:ready:default:d 1.3", "node {0}:steps 1.4",
			"node {0}:steps 1.5", "run {0}:run:1 1",
		}},
		"a run that is kept before it has ended": {func(l *lab, run string, k *partitionKeys, q *queueKeys) error {
			return l.due(k.runs(), run)
		}, []string{"run {0}:run:1 1"}},
		"a key of no run": {func(l *lab, _ string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.run("77"), "st", "r").Err()
		}, []string{"orphan {0}:run: 77"}},
		"a journal of nobody": {func(l *lab, _ string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.HSet(l.ctx, k.journal("77"), "r:x#1", "x").Err()
		}, []string{"orphan {0}:journal: 77"}},
		"work that nobody does": {func(l *lab, _ string, k *partitionKeys, q *queueKeys) error {
			return l.server.Client.ZAdd(l.ctx, k.sweep(), zScore(1, "s 1 go")).Err()
		}, []string{"sweep {0}:sweep s 1 go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testserver.Each(t, func(t *testing.T, s testserver.Server) {
				t.Parallel()
				l := newLab(t, s, Config{})
				id := l.start(graphSpec("a", "b?: a", "c", "d: c", "e: d", "f: d"))
				claims := l.claimNodes()
				l.advance(Discard(claims["a"], l.failure(claims["a"], "boom")), l.done(claims["c"], "C"))
				l.wantNodes(id, cyclone.RunRunning, "a discarded", "b cancelled", "c completed", "d ready", "e blocked", "f blocked")
				l.wantAudit()
				p := l.part(id)
				l.ok(c.broken(l, id.String(), p.keys, p.keys.queue("default")))
				l.wantAudit(c.want...)
			})
		})
	}
}

func zScore(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }
