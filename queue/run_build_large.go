package queue

import (
	"fmt"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// sendLarge stores a run chunk by chunk. A run that is not committed has no effect
// and is removed when its time has passed.
func (s *buildSender) sendLarge(it *runItem) {
	defer s.release()
	id, done := int64(0), 0
	for done < len(it.nodes) {
		end := s.chunkEnd(it, done)
		phase, replicas := luascripts.BuildAdd, 0
		switch {
		case end == len(it.nodes) && !it.held:
			phase, replicas = luascripts.BuildCommit, it.replicas
		case done == 0:
			phase = luascripts.BuildOpen
		}
		fresh := 0
		if done == 0 {
			fresh = 1
		}
		answer, confirmed, err := s.call(fresh, replicas, func(next func() int64) {
			s.reset()
			if done == 0 {
				id = next()
			}
			run := s.newRun(it, id, phase)
			if phase == luascripts.BuildCommit {
				s.begin(it, &run)
			}
			s.bodies(it, &run, done, end)
			s.input.Runs = append(s.input.Runs, run)
		})
		if err == nil && len(answer.Refused) > 0 {
			it.refuse(answer.Refused[0])
			it.ticket.settle(1)
			return
		}
		if err != nil {
			it.fail(fmt.Errorf("workflow %s: %d of %d nodes were sent: %w", it.name, done, len(it.nodes), err))
			return
		}
		if done = end; done == len(it.nodes) {
			it.stored(id, confirmed)
			s.tell(it, answer.NowMS)
		}
	}
	it.ticket.settle(1)
}

// chunkEnd is where the chunk ends that begins at a node. The first one is never
// the last one, so that a large run has an opening and a commit.
func (s *buildSender) chunkEnd(it *runItem, from int) int {
	end, size := from, 0
	for end < len(it.nodes) && end-from < buildNodes && (end == from || size+len(it.nodes[end].body) <= batchBytes) {
		size += len(it.nodes[end].body)
		end++
	}
	if from == 0 && end == len(it.nodes) {
		end--
	}
	return end
}
