package queue

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// extendBatch is the most leases that one script renews.
const extendBatch = 400

// Held is a lease to renew.
type Held struct {
	Claim *Claimed
	// Started marks the attempt as started, from this renewal on.
	Started bool
	// Task tells [Store.Begin] to read the attempt's journal.
	Task bool
}

// byPartition returns which of the leases are on which partition.
func byPartition(held []Held, partitions int) [][]int {
	indexes := make([][]int, partitions)
	for i := range held {
		p := held[i].Claim.partition
		indexes[p] = append(indexes[p], i)
	}
	return indexes
}

// noteGone adds to gone which leases of the batch are lost.
func noteGone(gone map[int]error, held []Held, batch []int, lost map[string]string) map[int]error {
	for _, i := range batch {
		if reason, ok := lost[held[i].Claim.member]; ok {
			if gone == nil {
				gone = make(map[int]error)
			}
			gone[i] = causeOf(reason)
		}
	}
	return gone
}

// Extend renews leases and, with a description, tells that the worker lives. It
// returns by index which leases are gone, with [cyclone.ErrLeaseLost] or
// [cyclone.ErrCancelled]: their attempts have to end. It is not sent again: the
// next heartbeat is.
func (s *Store) Extend(ctx context.Context, held []Held, lease time.Duration, info []byte) (map[int]error, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return nil, err
	}
	var gone map[int]error
	for n, indexes := range byPartition(held, len(d.parts)) {
		// The description lives on the first partition.
		for first := true; len(indexes) > 0 || first && n == 0 && info != nil; first = false {
			batch := indexes[:min(len(indexes), extendBatch)]
			indexes = indexes[len(batch):]
			lost, err := s.extend(ctx, d.parts[n], held, batch, lease, info)
			if err != nil {
				return gone, err
			}
			gone = noteGone(gone, held, batch, lost)
		}
	}
	return gone, nil
}

func (s *Store) extend(ctx context.Context, p *partition, held []Held, batch []int, lease time.Duration, info []byte) (map[string]string, error) {
	call := s.extendCall(p, held, batch, lease, info)
	rdb := s.client.rdb
	if s.client.cfg.Heartbeats != nil {
		rdb = s.client.cfg.Heartbeats
	}
	reply, err := luascripts.Extend.Run(ctx, rdb, call.Keys, call.Args)
	if err != nil {
		return nil, err
	}
	s.client.clock.observe(luascripts.Now(reply))
	return luascripts.ParseExtend(reply), nil
}

func (s *Store) extendCall(p *partition, held []Held, batch []int, lease time.Duration, info []byte) *luascripts.Call {
	var groups []luascripts.ExtendGroup
	for _, i := range batch {
		c := held[i].Claim
		leased := p.keys.queue(c.Queue).leased
		g := 0
		for g < len(groups) && groups[g].Leased != leased {
			g++
		}
		if g == len(groups) {
			groups = append(groups, luascripts.ExtendGroup{Leased: leased})
		}
		bits := int(c.Priority) * 2
		if held[i].Started {
			bits++
		}
		group := &groups[g]
		group.Members = append(group.Members, c.member)
		group.IDs = append(group.IDs, c.id())
		group.Bits = append(group.Bits, bits)
	}
	if p.number != 0 {
		info = nil
	}
	call := new(luascripts.Call)
	luascripts.ExtendCall(call, luascripts.ExtendKeys{Ghosts: p.keys.ghosts(), Workers: p.keys.workers()},
		lease.Milliseconds(), s.worker, info, groups)
	return call
}
