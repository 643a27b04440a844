package faultproxy_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/faultproxy"
)

// A script is found by its SHA1, however it is called.
func TestRuleOfAScript(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		ctx := t.Context()
		one, two := redis.NewScript("return redis.call('INCR', KEYS[1])"), redis.NewScript("return 2")
		rule := r.proxy.Add(faultproxy.Rule{Script: one.Hash(), Times: 2, Fault: faultproxy.ErrorReply("ERR as asked")})
		for i, call := range []func() error{
			func() error { return two.Eval(ctx, r.via, []string{r.key}).Err() },
			func() error { return one.Eval(ctx, r.via, []string{r.key}).Err() },
			func() error { return one.EvalSha(ctx, r.via, []string{r.key}).Err() },
			func() error { return one.Eval(ctx, r.via, []string{r.key}).Err() },
		} {
			if err, want := call(), i == 1 || i == 2; (err != nil) != want {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if n := r.executed(t); n != 1 || rule.Hits() != 2 {
			t.Errorf("%d executed, %d hits, want 1 and 2", n, rule.Hits())
		}
	})
}

// The same seed hits the same calls, another seed others.
func TestChanceFollowsTheSeed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		run := func(seed uint64) (hit []int) {
			rule := r.proxy.Add(faultproxy.Rule{
				Command: "INCR", Times: faultproxy.Always, Chance: 0.2, Seed: seed, Fault: faultproxy.ErrorReply("ERR as asked"),
			})
			defer rule.Remove()
			for call := range 200 {
				if r.via.Incr(t.Context(), r.key).Err() != nil {
					hit = append(hit, call)
				}
			}
			return hit
		}
		first := run(1)
		if n := len(first); n < 20 || n > 60 {
			t.Errorf("%d of 200 hit with a chance of 0.2", n)
		}
		if again := run(1); !slices.Equal(again, first) {
			t.Errorf("seed 1 hit %v, then %v", first, again)
		}
		if other := run(2); slices.Equal(other, first) {
			t.Error("two seeds hit the same calls")
		}
	})
}

// Rules count side by side, and the oldest that hits decides.
func TestOldestRuleWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		count := r.proxy.Add(faultproxy.Rule{Command: "INCR", Nth: 2})
		fail := r.proxy.Add(faultproxy.Rule{Command: "INCR", Times: faultproxy.Always, Fault: faultproxy.ErrorReply("ERR as asked")})
		for call := range 3 {
			err := r.via.Incr(t.Context(), r.key).Err()
			if (err != nil) != (call != 1) {
				t.Errorf("call %d: %v", call, err)
			}
		}
		fail.Remove()
		if err := r.via.Incr(t.Context(), r.key).Err(); err != nil {
			t.Errorf("after the rule was removed: %v", err)
		}
		if count.Hits() != 1 || fail.Hits() != 2 {
			t.Errorf("hits %d and %d, want 1 and 2", count.Hits(), fail.Hits())
		}
	})
}
