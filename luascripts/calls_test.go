package luascripts_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// open opens lanes and returns the numbers of their last calls.
func (l *lab) open(lanes ...string) []int64 {
	l.Helper()
	var c luascripts.Call
	luascripts.OpenCall(&c, *named[luascripts.OpenKeys](l, ""), lanes...)
	return luascripts.OpenNumbers(l.ok(luascripts.Open, &c))
}

// item is an enqueue of body "b<id>" to the default lane of queue 0.
func item(id string, change ...func(*luascripts.EnqueueItem)) luascripts.EnqueueItem {
	it := luascripts.EnqueueItem{Lane: 1, ID: id, Body: "b" + id}
	for _, f := range change {
		f(&it)
	}
	return it
}

func due(at string) func(*luascripts.EnqueueItem) {
	return func(it *luascripts.EnqueueItem) { it.Due = at }
}

func onLane(lane int) func(*luascripts.EnqueueItem) {
	return func(it *luascripts.EnqueueItem) { it.Lane = lane }
}

// unique holds a digest: while unfinished, or for a time if scope is not 0.
func unique(digest string, scope int64, rule int) func(*luascripts.EnqueueItem) {
	return func(it *luascripts.EnqueueItem) { it.Digest, it.ScopeMS, it.Conflict = digest, scope, rule }
}

// Conflict rules.
const (
	existing = iota
	reject
	replace
)

// enqueueInput is a call that puts items into queue q.
func (l *lab) enqueueInput(items ...luascripts.EnqueueItem) *luascripts.EnqueueInput {
	return &luascripts.EnqueueInput{
		MaxBytes: 100, Channels: l.channels(), Detail: []byte("detail"),
		Queues: []luascripts.EnqueueQueue{*named[luascripts.EnqueueQueue](l, "q")}, Items: items,
	}
}

func (l *lab) enqueueCall(in *luascripts.EnqueueInput) *luascripts.Call {
	c := new(luascripts.Call)
	in.Session = l.next()
	luascripts.EnqueueCall(c, named[luascripts.EnqueueKeys](l, ""), in)
	return c
}

func (l *lab) enqueue(items ...luascripts.EnqueueItem) luascripts.EnqueueReply {
	l.Helper()
	return luascripts.ParseEnqueue(l.ok(luascripts.Enqueue, l.enqueueCall(l.enqueueInput(items...))))
}

// plain is a group of ready steps of the default lane.
func plain(ids ...string) luascripts.EnqueueGroup {
	g := luascripts.EnqueueGroup{Lane: 1, IDs: ids}
	for _, id := range ids {
		g.Bodies = append(g.Bodies, "b"+id)
	}
	return g
}

// handedOut sets the counter of ids.
func (l *lab) handedOut(last int) {
	l.Helper()
	l.put(l.rdb.Set(ctx, l.key("ids"), last, 0))
}

// ready enqueues plain steps to queue q.
func (l *lab) ready(ids ...string) {
	l.Helper()
	in := l.enqueueInput()
	in.Groups = []luascripts.EnqueueGroup{plain(ids...)}
	l.ok(luascripts.Enqueue, l.enqueueCall(in))
}

// turnInput is a turn of worker w that claims nothing. Each has a token of its
// own: t1, t2 and so on.
func (l *lab) turnInput() *luascripts.TurnInput {
	l.tokens++
	return &luascripts.TurnInput{
		Worker: "w", Token: "t" + strconv.Itoa(l.tokens), LeaseMS: 30_000, Budget: 20,
		Channels: l.channels(), Detail: []byte("detail"), Queues: []luascripts.TurnQueue{*named[luascripts.TurnQueue](l, "q")},
	}
}

func (l *lab) turnCall(in *luascripts.TurnInput) *luascripts.Call {
	c := new(luascripts.Call)
	in.Session = l.next()
	luascripts.TurnCall(c, named[luascripts.TurnKeys](l, ""), in)
	return c
}

func (l *lab) turn(in *luascripts.TurnInput) luascripts.TurnReply {
	l.Helper()
	return luascripts.ParseTurn(l.ok(luascripts.Turn, l.turnCall(in)))
}

// wanting makes a turn claim up to n steps of all lanes of its queues.
func wanting(in *luascripts.TurnInput, n int) *luascripts.TurnInput {
	in.Wanted = n
	for q := range in.Queues {
		in.Queues[q].Room = n
		for lane := range 3 {
			in.Claims = append(in.Claims, luascripts.TurnClaim{Queue: q, Lane: lane, Count: n})
		}
	}
	return in
}

// claim takes up to n steps of queue q and returns them as id:token.
func (l *lab) claim(n int) []string {
	l.Helper()
	in := wanting(l.turnInput(), n)
	return members(l.turn(in), in.Token)
}

// members lists what a turn has claimed.
func members(reply luascripts.TurnReply, token string) []string {
	var out []string
	for _, claim := range reply.Claims {
		for _, id := range claim.IDs {
			out = append(out, id+":"+token)
		}
	}
	return out
}

// settling adds a group that settles members of queue 0. Bodies become "<op><id>",
// results "out<id>", and times 1 s.
func settling(in *luascripts.TurnInput, op luascripts.Op, members ...string) *luascripts.TurnInput {
	g := luascripts.TurnGroup{Op: op, Members: members}
	var results []any
	for _, m := range members {
		id, _, _ := strings.Cut(m, ":")
		g.IDs = append(g.IDs, id)
		switch op {
		case luascripts.OpKeep:
			g.Extra = append(g.Extra, start+60_000, id)
			results = append(results, id, "out"+id)
		case luascripts.OpRetry, luascripts.OpSnooze:
			g.Extra = append(g.Extra, 1000, 2, string(op)+id)
		case luascripts.OpDiscard:
			g.Extra = append(g.Extra, string(op)+id)
		case luascripts.OpGiveBack, luascripts.OpRelease:
			g.Extra = append(g.Extra, 2)
		case luascripts.OpPutBack:
			g.Extra = append(g.Extra, 1000, 2)
		}
	}
	g.Extra = append(g.Extra, results...)
	in.Groups = append(in.Groups, g)
	return in
}

func (l *lab) settle(op luascripts.Op, members ...string) luascripts.TurnReply {
	l.Helper()
	return l.turn(settling(l.turnInput(), op, members...))
}

// extend renews leases of queue q by a full lease; bits are lane*2+started.
func (l *lab) extend(bits int, members ...string) map[string]string {
	l.Helper()
	c := new(luascripts.Call)
	luascripts.ExtendCall(c, *named[luascripts.ExtendKeys](l, ""), 30_000, "w", nil, []luascripts.ExtendGroup{extending(l, bits, members...)})
	return luascripts.ParseExtend(l.ok(luascripts.Extend, c))
}

func extending(l *lab, bits int, members ...string) luascripts.ExtendGroup {
	g := luascripts.ExtendGroup{Leased: l.key("leased:q"), Members: members}
	for _, m := range members {
		id, _, _ := strings.Cut(m, ":")
		g.IDs, g.Bits = append(g.IDs, id), append(g.Bits, bits)
	}
	return g
}

func (l *lab) cancelCall(ids ...string) *luascripts.Call {
	c := new(luascripts.Call)
	luascripts.CancelCall(c, named[luascripts.CancelKeys](l, "q"), l.next(), l.channels(), "q", []byte("detail"), ids)
	return c
}

func (l *lab) cancel(ids ...string) []string {
	l.Helper()
	return luascripts.Outcomes(l.ok(luascripts.Cancel, l.cancelCall(ids...)))
}

func (l *lab) deleteCall(ids ...string) *luascripts.Call {
	c := new(luascripts.Call)
	luascripts.DeleteCall(c, named[luascripts.DeleteKeys](l, "q"), l.next(), l.channels(), "q", []byte("detail"), ids)
	return c
}

func (l *lab) delete(ids ...string) []string {
	l.Helper()
	return luascripts.Outcomes(l.ok(luascripts.Delete, l.deleteCall(ids...)))
}

func (l *lab) reviveCall(steps ...luascripts.ReviveStep) *luascripts.Call {
	c := new(luascripts.Call)
	luascripts.ReviveCall(c, named[luascripts.ReviveKeys](l, "q"), l.next(), l.channels(), 0, "q", []byte("detail"), steps)
	return c
}

func (l *lab) revive(ids ...string) []string {
	l.Helper()
	var steps []luascripts.ReviveStep
	for _, id := range ids {
		steps = append(steps, luascripts.ReviveStep{ID: id, Note: "retried"})
	}
	return luascripts.Outcomes(l.ok(luascripts.Revive, l.reviveCall(steps...)))
}

func (l *lab) rescheduleCall(step *luascripts.RescheduleStep) *luascripts.Call {
	c := new(luascripts.Call)
	k := named[luascripts.RescheduleKeys](l, "q")
	k.Journal = l.key("journal:" + step.ID)
	luascripts.RescheduleCall(c, k, l.next(), l.channels(), 0, "q", []byte("detail"), step)
	return c
}

// reschedule moves a step to a time in ms, or to now for "".
func (l *lab) reschedule(id, at string) string {
	l.Helper()
	return l.rescheduleStep(&luascripts.RescheduleStep{ID: id, Lane: 1, Due: at})
}

func (l *lab) rescheduleStep(step *luascripts.RescheduleStep) string {
	l.Helper()
	return luascripts.RescheduleReply(l.ok(luascripts.Reschedule, l.rescheduleCall(step)))
}

func (l *lab) pauseCall(pause bool) *luascripts.Call {
	c := new(luascripts.Call)
	luascripts.PauseCall(c, *named[luascripts.PauseKeys](l, "q"), l.next(), l.channels(), 0, "q", pause)
	return c
}

// pause stops queue q, or lets it go on, and tells whether it stood before.
func (l *lab) pause(pause bool) bool {
	l.Helper()
	return luascripts.PauseReply(l.ok(luascripts.Pause, l.pauseCall(pause)))
}

func (l *lab) trim(index string, ageMS int64, keep, limit int) int {
	l.Helper()
	k := named[luascripts.TrimKeys](l, "q")
	k.Index = l.key(index)
	c := new(luascripts.Call)
	luascripts.TrimCall(c, k, ageMS, keep, limit)
	return luascripts.Removed(l.ok(luascripts.Trim, c))
}

func (l *lab) clamp(leaseMS int64, limit int) int {
	l.Helper()
	c := new(luascripts.Call)
	luascripts.ClampCall(c, l.key("leased:q"), leaseMS, limit)
	return luascripts.Removed(l.ok(luascripts.Clamp, c))
}

func (l *lab) step(id string) luascripts.StateReply {
	l.Helper()
	c := new(luascripts.Call)
	luascripts.StateCall(c, named[luascripts.StateKeys](l, "q"), id)
	return luascripts.ParseState(l.ok(luascripts.State, c))
}

// purgeCall purges the first ones of an index.
func (l *lab) purgeCall(index string, list bool, limit int) *luascripts.Call {
	if list {
		return l.purgeOf(index, true, false, l.rdb.LRange(ctx, l.key(index), int64(-limit), -1).Val()...)
	}
	return l.purgeOf(index, false, false, l.rdb.ZRange(ctx, l.key(index), 0, int64(limit-1)).Val()...)
}

func (l *lab) purgeOf(index string, list, listens bool, ids ...string) *luascripts.Call {
	k := named[luascripts.PurgeKeys](l, "q")
	k.Index = l.key(index)
	c := new(luascripts.Call)
	luascripts.PurgeCall(c, k, l.next(), l.channels(), "q", list, listens, []byte("detail"), ids)
	return c
}

// purge takes the first ones of an index of queue q and returns how many it took and
// how many steps it deleted.
func (l *lab) purge(index string, list bool, limit int) [2]int {
	l.Helper()
	taken, deleted, _ := luascripts.PurgeReply(l.ok(luascripts.Purge, l.purgeCall(index, list, limit)))
	return [2]int{taken, deleted}
}

// stand puts an idle worker into the line of queue q, for ms from now on.
func (l *lab) stand(worker string, ms int64) {
	l.Helper()
	l.put(l.rdb.ZAdd(ctx, l.key("waiters:q"), redis.Z{Member: worker, Score: float64(l.now + ms)}))
}

// expire makes the leases of the ids end a moment ago, as their bits are.
func (l *lab) expire(ids ...string) {
	l.Helper()
	key := l.key("leased:q")
	for _, z := range l.rdb.ZRangeWithScores(ctx, key, 0, -1).Val() {
		id, _, _ := strings.Cut(z.Member.(string), ":")
		if slices.Contains(ids, id) {
			z.Score = float64((l.now-1)*16 + int64(z.Score)%16)
			l.put(l.rdb.ZAdd(ctx, key, z))
		}
	}
}
