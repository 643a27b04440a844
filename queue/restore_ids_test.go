package queue

import (
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

// distinct fails when an id came twice.
func (l *lab) distinct(ids []cyclone.RunID) {
	l.Helper()
	seen := make(map[cyclone.RunID]bool)
	for _, id := range ids {
		if seen[id] {
			l.Fatalf("run %v was handed out twice", id)
		}
		seen[id] = true
	}
}

// mails are n requests.
func mails(n int) []cyclone.Request {
	requests := make([]cyclone.Request, n)
	for i := range requests {
		requests[i] = mail.With(strconv.Itoa(i))
	}
	return requests
}

// fresh enqueues n steps through a client that has no ids yet.
func (l *lab) fresh(n int) (ids []cyclone.RunID) {
	l.Helper()
	receipts, err := l.open(Config{}).Enqueue(l.ctx, mails(n)...)
	l.ok(err)
	for _, r := range receipts {
		ids = append(ids, r.ID)
	}
	return ids
}

// counters applies f to the counter of every partition.
func (l *lab) counters(f func(k *partitionKeys) error) {
	l.Helper()
	for _, p := range l.client.space.Load().parts {
		l.ok(f(p.keys))
	}
}

// TestLostIDsAreRestored: when the counter is deleted or set back, no id comes a
// second time, whoever still holds a block of earlier ones.
func TestLostIDsAreRestored(t *testing.T) {
	for name, lose := range map[string]func(l *lab) func(k *partitionKeys) error{
		"deleted": func(l *lab) func(*partitionKeys) error {
			return func(k *partitionKeys) error { return l.server.Client.Del(l.ctx, k.ids()).Err() }
		},
		"set back": func(l *lab) func(*partitionKeys) error {
			return func(k *partitionKeys) error { return l.server.Client.Set(l.ctx, k.ids(), 1, 0).Err() }
		},
		"deleted with the statistics": func(l *lab) func(*partitionKeys) error {
			return func(k *partitionKeys) error { return l.server.Client.Del(l.ctx, k.ids(), k.stats()).Err() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				const n = 300 // steps on each of four partitions
				ids := append(l.fresh(n), l.enqueue("holds a block"))
				l.counters(lose(l))
				if name != "set back" {
					ids = append(ids, l.enqueue("from the block"))
				}
				ids = append(ids, l.fresh(n)...)
				ids = append(ids, l.enqueue("and after that"))
				l.distinct(ids)
				for _, id := range ids {
					l.wantState(id, cyclone.StepReady)
				}
				l.wantAudit()
			})
		})
	}
}

// TestLostIDsOfStepsThatAreGone do not come again soon, and steps of workflows
// count by their run.
func TestLostIDsOfStepsThatAreGone(t *testing.T) {
	everywhere(t, func(l *lab) {
		last := l.enqueue("x")
		l.ok(l.client.Delete(l.ctx, last))
		l.counters(func(k *partitionKeys) error {
			l.ok(l.server.Client.HSet(l.ctx, k.steps(), "40000.node", "x").Err())
			return l.server.Client.Del(l.ctx, k.ids()).Err()
		})
		partitions := len(l.client.space.Load().parts)
		for _, id := range l.fresh(partitions * stickiness) {
			if seq := int64(id) / int64(partitions); seq <= idsAhead+40000/int64(partitions) {
				l.Fatalf("run %v, number %d", id, seq)
			}
		}
	})
}

// TestLostIDsAreRestoredByManyAtOnce with the same result.
func TestLostIDsAreRestoredByManyAtOnce(t *testing.T) {
	everywhere(t, func(l *lab) {
		ids := l.fresh(300)
		l.counters(func(k *partitionKeys) error { return l.server.Client.Del(l.ctx, k.ids()).Err() })
		clients := make([]*Client, 4)
		for i := range clients {
			clients[i] = l.open(Config{})
		}
		found := make([][]cyclone.Receipt, len(clients))
		errs := make([]error, len(clients))
		var wg sync.WaitGroup
		for i, c := range clients {
			wg.Go(func() {
				found[i], errs[i] = c.Enqueue(l.ctx, mails(4*stickiness)...)
			})
		}
		wg.Wait()
		for i := range clients {
			l.ok(errs[i])
			for _, r := range found[i] {
				ids = append(ids, r.ID)
			}
		}
		l.distinct(ids)
		l.wantAudit()
	})
}

// TestAuditOfTheIDCounter finds one that is behind.
func TestAuditOfTheIDCounter(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("x")
		k := l.part(id).keys
		l.ok(l.server.Client.Del(l.ctx, k.ids()).Err())
		report, err := l.client.Audit(l.ctx, AuditOptions{})
		l.ok(err)
		if len(report.Findings) != 1 {
			l.Fatalf("%+v", report.Findings)
		}
		want := Finding{Rule: "id counter", Key: k.ids(), Text: "it is 0, and ids up to 1 were given out"}
		if diff := cmp.Diff(want, report.Findings[0]); diff != "" {
			l.Error(diff)
		}
	})
}
