package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/model"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
)

var cases atomic.Int64

// TestScriptsDoWhatTheModelDoes: random operations, each on the scripts and on the
// model, leave the same keys, publish the same and answer the same.
func TestScriptsDoWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) {
			b := &bench{
				T: rt, rdb: s.Client, base: fmt.Sprintf("%s:%d:{0}:", s.Prefix, cases.Add(1)),
				space: model.NewSpace(1_800_000_000_000), lanes: map[string]int64{},
			}
			b.open("c.1", "c.2")
			b.handOut(1000)
			b.enqueue(rt)
			b.claim(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"":           b.check,
				"advance":    b.advance,
				"enqueue":    b.enqueue,
				"and more":   b.enqueue,
				"turn":       b.turn,
				"and again":  b.turn,
				"claim":      b.claim,
				"settle":     b.settle,
				"extend":     b.extend,
				"cancel":     b.cancel,
				"delete":     b.remove,
				"revive":     b.revive,
				"reschedule": b.reschedule,
				"purge":      b.purge,
				"pause":      b.pause,
				"trim":       b.trim,
				"clamp":      b.clamp,
				"tidy":       b.tidy,
				"send again": b.sendAgain,
			})
		})
	})
}

func (b *bench) open(lanes ...string) {
	c := new(luascripts.Call)
	luascripts.OpenCall(c, *keys[luascripts.OpenKeys](b, "", 0), lanes...)
	for i, seq := range luascripts.OpenNumbers(b.run(luascripts.Open, c)) {
		b.lanes[lanes[i]] = seq
	}
}

// handOut makes the counter of ids one from which the bench's own ids may come.
func (b *bench) handOut(ids int64) {
	b.space.IDs = ids
	if err := b.rdb.Set(ctx, b.key("ids"), ids, 0).Err(); err != nil {
		b.Fatal(err)
	}
}

// advance moves the clock, now and then backwards.
func (b *bench) advance(t *rapid.T) {
	b.space.Now += rapid.SampledFrom([]int64{1, 1, 10, 100, 1000, 3000, 10_000, 60_000, -1, -1000, -60_000}).Draw(t, "by")
}

func queueOf(t *rapid.T) string { return rapid.SampledFrom(queues).Draw(t, "queue") }

// digestOf is a unique key, or none. It is one of its queue.
func digestOf(t *rapid.T, queue string) string {
	if d := rapid.SampledFrom([]string{"", "D", "D", "E"}).Draw(t, "digest"); d != "" {
		return d + queue
	}
	return ""
}

func laneOf(t *rapid.T) int8 { return rapid.SampledFrom([]int8{1, 1, 0, 2}).Draw(t, "lane") }

func (b *bench) enqueue(t *rapid.T) {
	in := &luascripts.EnqueueInput{MaxBytes: 100, Channels: channels, Detail: []byte("detail")}
	for _, q := range queues {
		in.Queues = append(in.Queues, *keys[luascripts.EnqueueQueue](b, q, 0))
	}
	in.Block = rapid.SampledFrom([]int64{0, 0, 10}).Draw(t, "block")
	var groups, items []model.Item
	for range rapid.IntRange(1, 4).Draw(t, "n") {
		b.ids++
		it := model.Item{ID: strconv.Itoa(b.ids), Body: fmt.Sprintf("body%d", b.ids), Queue: queueOf(t), Lane: laneOf(t)}
		if rapid.Bool().Draw(t, "plain") {
			groups = append(groups, it)
			continue
		}
		it.Due = b.space.Now + rapid.SampledFrom([]int64{0, 0, 1, 500, 5000, -5}).Draw(t, "due")
		it.Digest = digestOf(t, it.Queue)
		if it.Digest != "" {
			it.Rule = model.Conflict(rapid.IntRange(0, 3).Draw(t, "rule"))
			it.Scope = rapid.SampledFrom([]int64{0, 0, 1000, 20_000}).Draw(t, "scope")
		}
		items = append(items, it)
	}
	for i, it := range groups {
		in.Groups = append(in.Groups, luascripts.EnqueueGroup{
			Queue: slices.Index(queues, it.Queue), Lane: int(it.Lane), IDs: []string{groups[i].ID}, Bodies: []string{groups[i].Body},
		})
	}
	for _, it := range items {
		in.Items = append(in.Items, luascripts.EnqueueItem{
			Queue: slices.Index(queues, it.Queue), Lane: int(it.Lane), ID: it.ID, Due: strconv.FormatInt(it.Due, 10), Body: it.Body,
			Digest: it.Digest, Conflict: int(it.Rule), ScopeMS: it.Scope,
		})
	}
	first, refused := b.space.Enqueue(in.Block, append(groups, items...))
	want := luascripts.EnqueueReply{NowMS: b.space.Now, First: first}
	for _, r := range refused {
		want.Conflicts = append(want.Conflicts, luascripts.Conflict{Item: r.Item - len(groups), Holder: r.Holder, Replaced: r.Replaced})
	}
	b.session(luascripts.Enqueue, func(c *luascripts.Call, s luascripts.Session) {
		in.Session = s
		luascripts.EnqueueCall(c, keys[luascripts.EnqueueKeys](b, "", 0), in)
	}, func(reply []any) any { return luascripts.ParseEnqueue(reply) }, want)
}

// known lists the ids of a queue, and one that is not there.
func (b *bench) known(queue string) []string {
	ids := []string{"999"}
	for _, id := range slices.Sorted(maps.Keys(b.space.Steps)) {
		if b.space.Steps[id].Queue == queue {
			ids = append(ids, id)
		}
	}
	return ids
}

func (b *bench) someIDs(t *rapid.T, queue string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(b.known(queue)), 1, 3, rapid.ID[string]).Draw(t, "ids")
}

func outcomes(reply []any) any { return luascripts.Outcomes(reply) }

func (b *bench) cancel(t *rapid.T) {
	q := queueOf(t)
	ids := b.someIDs(t, q)
	b.session(luascripts.Cancel, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.CancelCall(c, keys[luascripts.CancelKeys](b, q, 0), s, channels, q, nil, ids)
	}, outcomes, b.space.Cancel(ids))
}

func (b *bench) remove(t *rapid.T) {
	q := queueOf(t)
	ids := b.someIDs(t, q)
	b.session(luascripts.Delete, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.DeleteCall(c, keys[luascripts.DeleteKeys](b, q, 0), s, channels, q, nil, ids)
	}, outcomes, b.space.Delete(ids))
}

// revive opens steps of one lane again, some with the key that they held.
func (b *bench) revive(t *rapid.T) {
	q, lane := queueOf(t), laneOf(t)
	var list []model.Reopen
	var steps []luascripts.ReviveStep
	for _, id := range b.someIDs(t, q) {
		if e := b.space.Steps[id]; e != nil && e.Lane != lane {
			continue
		}
		r := model.Reopen{ID: id, Limit: rapid.SampledFrom([]int{0, 7}).Draw(t, "limit"), Digest: digestOf(t, q)}
		list = append(list, r)
		steps = append(steps, luascripts.ReviveStep{ID: id, Limit: r.Limit, Digest: r.Digest, Note: "retried"})
	}
	if len(list) == 0 {
		t.Skip("none of this lane")
	}
	b.session(luascripts.Revive, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.ReviveCall(c, keys[luascripts.ReviveKeys](b, q, lane), s, channels, 0, q, nil, steps)
	}, outcomes, b.space.Revive(q, list))
}

func (b *bench) reschedule(t *rapid.T) {
	q := queueOf(t)
	id := rapid.SampledFrom(b.known(q)).Draw(t, "id")
	lane := int8(1)
	if e := b.space.Steps[id]; e != nil {
		lane = e.Lane
	}
	due, text := int64(0), ""
	if rapid.Bool().Draw(t, "later") {
		due = b.space.Now + rapid.SampledFrom([]int64{1, 700, 7000}).Draw(t, "due")
		text = strconv.FormatInt(due, 10)
	}
	want := b.space.Reschedule(id, due)
	if want == "completed" || want == "discarded" || want == "cancelled" {
		want = "live" // the script looks at the indexes of what waits
	}
	b.session(luascripts.Reschedule, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.RescheduleCall(c, keys[luascripts.RescheduleKeys](b, q, lane), s, channels, 0, q, nil,
			&luascripts.RescheduleStep{ID: id, Lane: int(lane), Due: text})
	}, func(reply []any) any { return luascripts.RescheduleReply(reply) }, want)
}

func (b *bench) pause(t *rapid.T) {
	q, pause := queueOf(t), rapid.Bool().Draw(t, "pause")
	b.session(luascripts.Pause, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.PauseCall(c, *keys[luascripts.PauseKeys](b, q, 0), s, channels, 0, q, pause)
	}, func(reply []any) any { return luascripts.PauseReply(reply) }, b.space.Pause(q, pause))
}

func (b *bench) purge(t *rapid.T) {
	q, lane, limit := queueOf(t), laneOf(t), rapid.IntRange(1, 3).Draw(t, "limit")
	k := keys[luascripts.PurgeKeys](b, q, 0)
	var want [2]int
	var ids []string // what is there; another one that is not changes nothing
	list := rapid.Bool().Draw(t, "list")
	if list {
		k.Index = b.key("ready:" + q + ":" + laneNames[lane])
		ids = b.rdb.LRange(ctx, k.Index, int64(-limit), -1).Val()
		want[0], want[1] = b.space.PurgeReady(q, lane, limit)
	} else {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(indexNames))).Draw(t, "index")
		k.Index = b.key(name + ":" + q)
		ids = append(b.rdb.ZRange(ctx, k.Index, 0, int64(limit-1)).Val(), "0")
		want[0] = b.space.PurgeIndex(q, indexNames[name], limit)
		want[1] = want[0]
	}
	b.session(luascripts.Purge, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.PurgeCall(c, k, s, channels, q, list, false, nil, ids)
	}, func(reply []any) any {
		taken, deleted, _ := luascripts.PurgeReply(reply)
		return [2]int{taken, deleted}
	}, want)
}

func (b *bench) trim(t *rapid.T) {
	q, name := queueOf(t), rapid.SampledFrom([]string{"completed", "discarded", "cancelled"}).Draw(t, "index")
	age := rapid.SampledFrom([]int64{0, 1000, 1_000_000}).Draw(t, "age")
	keep, limit := rapid.IntRange(0, 3).Draw(t, "keep"), rapid.IntRange(1, 3).Draw(t, "limit")
	k := keys[luascripts.TrimKeys](b, q, 0)
	k.Index = b.key(name + ":" + q)
	c := new(luascripts.Call)
	luascripts.TrimCall(c, k, age, keep, limit)
	want := b.space.Trim(q, indexNames[name], age, keep, limit)
	b.equal("trim", luascripts.Removed(b.run(luascripts.Trim, c)), want)
}

func (b *bench) clamp(t *rapid.T) {
	q, lease := queueOf(t), rapid.SampledFrom([]int64{100, 5000}).Draw(t, "lease")
	c := new(luascripts.Call)
	luascripts.ClampCall(c, b.key("leased:"+q), lease, 2)
	want := b.space.Clamp(q, lease, 2)
	b.equal("clamp", luascripts.Removed(b.run(luascripts.Clamp, c)), want)
}

// tidy frees keys by time. Sessions are the lanes that this test goes on with, so
// none is old enough.
func (b *bench) tidy(*rapid.T) {
	c := new(luascripts.Call)
	luascripts.TidyCall(c, keys[luascripts.TidyKeys](b, "", 0), 1_000_000_000, 60, 100, nil)
	reply := b.run(luascripts.Tidy, c)
	b.equal("tidy", reply[2], any(int64(b.space.Tidy())))
}

// sendAgain repeats the last call, which changes nothing and is answered alike,
// and its lane's one before, which is refused.
func (b *bench) sendAgain(t *rapid.T) {
	if b.again == nil {
		t.Skip("nothing was sent")
	}
	reply := b.run(b.again.script, b.again.call)
	if status := luascripts.StatusOf(reply); status != luascripts.OK {
		b.Fatalf("%s again: status %v", b.again.script.Name, status)
	}
	seq := b.again.call.Args[1].(int64)
	b.again.call.Args[1] = seq - 1
	reply = b.run(b.again.script, b.again.call)
	if status := luascripts.StatusOf(reply); status != luascripts.Stale {
		b.Fatalf("%s late: status %v", b.again.script.Name, status)
	}
	b.again.call.Args[1] = seq
}
