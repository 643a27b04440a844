package cyclonetest

import (
	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// completion is a transaction that checks what is added like a worker's, as on a
// deployment of one partition, and then drops it.
type completion struct{ wire.Tx }

func newCompletion() *completion {
	return &completion{wire.Tx{
		Namespace: "cyclone:", Base: "cyclone:{0}:tx:",
		Here: func(int64) bool { return true },
		Encode: func(v any) (uint8, []byte, error) {
			b, err := codec.Marshal(v)
			return codec.ID(), b, err
		},
	}}
}

func (c *completion) Enqueue(requests ...cyclone.Request) error {
	for _, r := range requests {
		if err := c.FollowUp(r.Spec()); err != nil {
			return err
		}
	}
	return nil
}

func (c *completion) Signal(run cyclone.RunID, name string, payload any) error {
	return c.Tx.Signal(int64(run), name, payload)
}
