package worker

import (
	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// maxQueuesPerTurn bounds the keys and commands of one turn; a worker with more
// queues goes round.
const maxQueuesPerTurn = 16

// lowFirst is how often a turn serves the priorities in reverse, so that low is
// late but never forgotten.
const lowFirst = 16

var (
	highToLow = [...]cyclone.Priority{cyclone.High, cyclone.Default, cyclone.Low}
	lowToHigh = [...]cyclone.Priority{cyclone.Low, cyclone.Default, cyclone.High}
)

// rooms returns how many steps of each queue a turn for n steps may take. The
// mutex is held.
func (w *Worker) rooms(queues []Queue, n int) []queue.Room {
	rooms := make([]queue.Room, len(queues))
	for i := range queues {
		rooms[i] = queue.Room{Queue: queues[i].Name, N: w.room(&queues[i], n)}
	}
	return rooms
}

// room returns how many of n steps of a queue may be taken. The mutex is held.
func (w *Worker) room(q *Queue, n int) int {
	if q.Max == 0 {
		return n
	}
	return max(min(n, q.Max-w.inQueue[q.Name]), 0)
}

// quotas returns what to ask for in order of preference: first every queue's
// share of n, then what is left over. The mutex is held.
func (w *Worker) quotas(queues []Queue, rooms []queue.Room, n int) []queue.Quota {
	lanes := &highToLow
	if w.turns%lowFirst == 0 {
		lanes = &lowToHigh
	}
	list := make([]queue.Quota, 0, 2*len(lanes)*len(queues))
	if len(queues) > 1 && !w.cfg.Strict {
		total := 0
		for _, q := range queues {
			total += q.Weight
		}
		for i, q := range queues {
			share := (n*q.Weight + total - 1) / total
			list = ask(list, q.Name, min(share, rooms[i].N), lanes)
		}
	}
	for i, q := range queues {
		list = ask(list, q.Name, rooms[i].N, lanes)
	}
	return list
}

// ask appends the claims of one queue, if it has room.
func ask(list []queue.Quota, name string, n int, lanes *[3]cyclone.Priority) []queue.Quota {
	if n <= 0 {
		return list
	}
	for _, lane := range lanes {
		list = append(list, queue.Quota{Queue: name, Priority: lane, N: n})
	}
	return list
}

// turnQueues returns the queues of this turn: in their order when it is strict,
// else shuffled by weight, so that even a single free slot is shared fairly.
func (w *Worker) turnQueues(p *partition) []Queue {
	queues := w.cfg.Queues
	if len(queues) == 1 {
		return queues
	}
	picked := make([]Queue, 0, min(len(queues), maxQueuesPerTurn))
	for i := range cap(picked) {
		picked = append(picked, queues[(p.window+i)%len(queues)])
	}
	if len(picked) < len(queues) {
		p.window = (p.window + len(picked)) % len(queues)
	}
	if w.cfg.Strict {
		return picked
	}
	for i := range picked {
		total := 0
		for _, q := range picked[i:] {
			total += q.Weight
		}
		dice := int(w.cfg.Dice() * float64(total))
		k := i
		for dice >= picked[k].Weight {
			dice -= picked[k].Weight
			k++
		}
		picked[i], picked[k] = picked[k], picked[i]
	}
	return picked
}
