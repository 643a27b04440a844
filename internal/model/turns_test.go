package model_test

import (
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/model"
	"github.com/cyclone-queue/cyclone/luascripts"
)

func workerOf(t *rapid.T) string {
	return rapid.SampledFrom([]string{"w1", "w2", "w3"}).Draw(t, "worker")
}

// turn makes any turn: it settles, claims, stands in line, or does all of it.
func (b *bench) turn(t *rapid.T) {
	b.makeTurn(t, rapid.IntRange(0, 3).Draw(t, "groups"), rapid.IntRange(0, 5).Draw(t, "wanted"))
}

func (b *bench) claim(t *rapid.T) { b.makeTurn(t, 0, rapid.IntRange(1, 5).Draw(t, "wanted")) }

func (b *bench) settle(t *rapid.T) { b.makeTurn(t, rapid.IntRange(1, 3).Draw(t, "groups"), 0) }

func (b *bench) makeTurn(t *rapid.T, groups, wanted int) {
	b.tokens++
	turn := model.Turn{
		Worker: workerOf(t), Token: "t" + strconv.Itoa(b.tokens), Wanted: wanted,
		Lease:  rapid.SampledFrom([]int64{500, 5000, 30_000}).Draw(t, "lease"),
		Wait:   rapid.SampledFrom([]int64{0, 3000}).Draw(t, "wait"),
		Budget: rapid.IntRange(1, 6).Draw(t, "budget"),
	}
	for _, q := range queues {
		turn.Rooms = append(turn.Rooms, model.Room{Queue: q, N: min(wanted, rapid.IntRange(0, 5).Draw(t, "room"))})
	}
	if wanted > 0 {
		for range rapid.IntRange(1, 4).Draw(t, "quotas") {
			turn.Quotas = append(turn.Quotas, model.Quota{Queue: queueOf(t), Lane: laneOf(t), N: rapid.IntRange(1, 3).Draw(t, "n")})
		}
	}
	for range groups {
		if g := b.group(t); len(g.List) > 0 {
			turn.Groups = append(turn.Groups, g)
		}
	}
	want := b.space.Turn(turn)
	b.session(luascripts.Turn, func(c *luascripts.Call, s luascripts.Session) {
		luascripts.TurnCall(c, keys[luascripts.TurnKeys](b, "", 0), b.input(s, &turn))
	}, answerOf, want)
	for _, c := range want.Claims {
		for _, id := range c.IDs {
			b.claims = append(b.claims, claim{id, turn.Token, c.Queue, c.Lane})
		}
	}
	b.claims = b.claims[max(0, len(b.claims)-20):]
}

// group settles some of what was ever claimed of a queue.
func (b *bench) group(t *rapid.T) model.Group {
	g := model.Group{
		Queue: queueOf(t),
		Op:    rapid.SampledFrom([]model.Op{model.Complete, model.Keep, model.Retry, model.Snooze, model.Discard, model.GiveBack, model.Release, model.PutBack}).Draw(t, "op"),
	}
	var open []claim
	for _, c := range b.claims {
		if c.queue == g.Queue {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return g
	}
	member := func(c claim) string { return c.id + ":" + c.token }
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(open), 1, 3, member).Draw(t, "members") {
		g.List = append(g.List, model.Settlement{
			ID: c.id, Token: c.token, Delay: rapid.SampledFrom([]int64{0, 1, 900, 9000}).Draw(t, "delay"),
			Body: string(g.Op) + c.id, Result: "out" + c.id, Keep: b.space.Now + 4000,
		})
	}
	return g
}

func (b *bench) laneOfClaim(id, token string) int {
	for _, c := range b.claims {
		if c.id == id && c.token == token {
			return int(c.lane)
		}
	}
	return 1
}

// input is the turn as the script takes it.
func (b *bench) input(s luascripts.Session, turn *model.Turn) *luascripts.TurnInput {
	in := &luascripts.TurnInput{
		Session: s, Worker: turn.Worker, Token: turn.Token, LeaseMS: turn.Lease, WaitMS: turn.Wait, Wanted: turn.Wanted,
		Budget: turn.Budget, Channels: channels, Detail: []byte("detail"),
	}
	for _, r := range turn.Rooms {
		q := *keys[luascripts.TurnQueue](b, r.Queue, 0)
		q.Room = r.N
		in.Queues = append(in.Queues, q)
	}
	for _, q := range turn.Quotas {
		in.Claims = append(in.Claims, luascripts.TurnClaim{Queue: slices.Index(queues, q.Queue), Lane: int(q.Lane), Count: q.N})
	}
	for _, g := range turn.Groups {
		in.Groups = append(in.Groups, b.inputGroup(g))
	}
	return in
}

func (b *bench) inputGroup(g model.Group) luascripts.TurnGroup {
	group := luascripts.TurnGroup{Queue: slices.Index(queues, g.Queue), Op: luascripts.Op(g.Op)}
	var results []any
	for _, st := range g.List {
		group.Members = append(group.Members, st.ID+":"+st.Token)
		group.IDs = append(group.IDs, st.ID)
		lane := b.laneOfClaim(st.ID, st.Token) + 1
		switch g.Op {
		case model.Keep:
			group.Extra = append(group.Extra, st.Keep, st.ID)
			results = append(results, st.ID, st.Result)
		case model.Retry, model.Snooze:
			group.Extra = append(group.Extra, st.Delay, lane, st.Body)
		case model.Discard:
			group.Extra = append(group.Extra, st.Body)
		case model.GiveBack, model.Release:
			group.Extra = append(group.Extra, lane)
		case model.PutBack:
			group.Extra = append(group.Extra, st.Delay, lane)
		}
	}
	group.Extra = append(group.Extra, results...)
	return group
}

// answerOf reads a reply as the model gives it.
func answerOf(reply []any) any {
	raw := luascripts.ParseTurn(reply)
	a := model.TurnAnswer{Lost: map[string]string{}, Next: raw.NextMS, Rank: raw.Rank, More: raw.More}
	for member, reason := range raw.Lost {
		a.Lost[member] = reason
	}
	for _, c := range raw.Claims {
		a.Claims = append(a.Claims, model.Claims{Queue: queues[c.Queue], Lane: int8(c.Lane), IDs: c.IDs})
	}
	return a
}

func (b *bench) extend(t *rapid.T) {
	if len(b.claims) == 0 {
		t.Skip("nothing was claimed")
	}
	lease := rapid.SampledFrom([]int64{500, 5000}).Draw(t, "lease")
	c := new(luascripts.Call)
	var list []model.Extension
	var groups []luascripts.ExtendGroup
	member := func(c claim) string { return c.id + ":" + c.token }
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(b.claims), 1, 3, member).Draw(t, "members") {
		started := rapid.Bool().Draw(t, "started")
		list = append(list, model.Extension{ID: c.id, Token: c.token, Started: started})
		bits := int(c.lane) * 2
		if started {
			bits++
		}
		groups = append(groups, luascripts.ExtendGroup{
			Leased: b.key("leased:" + c.queue), Members: []string{member(c)}, IDs: []string{c.id}, Bits: []int{bits},
		})
	}
	luascripts.ExtendCall(c, *keys[luascripts.ExtendKeys](b, "", 0), lease, "w", nil, groups)
	got := map[string]string{}
	for member, reason := range luascripts.ParseExtend(b.run(luascripts.Extend, c)) {
		got[member] = reason
	}
	b.equal("extend", got, b.space.Extend(lease, list))
}
