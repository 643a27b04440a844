package queue

import (
	"context"
	"fmt"
)

// counter checks that the counter is not behind the ids that it has given out.
func (s *stepAudit) counter(ctx context.Context) error {
	highest := int64(0)
	for id, step := range s.steps {
		if step.body {
			highest = max(highest, int64(id.Run)/int64(len(s.p.client.space.Load().parts)))
		}
	}
	used, err := s.p.idsUsed(ctx)
	if err != nil {
		return err
	}
	if used.lost() || used.last < highest {
		s.found(Finding{Rule: "id counter", Key: s.p.keys.ids(), Text: fmt.Sprintf("it is %d, and ids up to %d were given out", used.last, max(highest, used.enqueued))})
	}
	return nil
}
