package queue

import (
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Completion is the transaction of one attempt: a [cyclone.CompletionTx] and what
// was added to it.
type Completion struct{ wire.Tx }

var _ cyclone.CompletionTx = (*Completion)(nil)

// NewCompletion returns an empty transaction for a run of the deployment.
func (s *Store) NewCompletion(c *Claimed) *Completion {
	d := s.client.space.Load()
	keys := d.keys.partition(c.partition)
	t := &Completion{wire.Tx{
		Namespace: d.keys.prefix + ":", Base: keys.base + "tx:",
		Here:    func(run int64) bool { return int(run)&(len(d.parts)-1) == c.partition },
		Encode:  s.client.Encode,
		Prepare: s.prepareTxRun,
	}}
	if _, cluster := s.client.rdb.(*redis.ClusterClient); cluster {
		t.Tag = strconv.Itoa(c.partition)
	}
	return t
}

// Enqueue implements [cyclone.CompletionTx].
func (t *Completion) Enqueue(requests ...cyclone.Request) error {
	for _, r := range requests {
		if err := t.FollowUp(r.Spec()); err != nil {
			return err
		}
	}
	return nil
}

// EnqueueRun implements [cyclone.CompletionTx].
func (t *Completion) EnqueueRun(run *wire.RunSpec) error { return t.Run(run) }

// Signal implements [cyclone.CompletionTx].
func (t *Completion) Signal(run cyclone.RunID, name string, payload any) error {
	return t.Tx.Signal(int64(run), name, payload)
}
