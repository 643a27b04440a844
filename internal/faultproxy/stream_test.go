package faultproxy_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/faultproxy"
)

// Subscriptions pass, in both protocols, and their first call can be broken.
func TestSubscription(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r rig) {
				o := options(r.Server, r.proxy)
				o.Protocol = protocol
				c := redis.NewClient(o)
				defer func() { _ = c.Close() }()
				r.proxy.Add(faultproxy.Rule{Command: "SUBSCRIBE", Fault: faultproxy.ErrorReply("ERR as asked")})

				broken := c.Subscribe(t.Context(), r.key)
				if _, err := broken.Receive(t.Context()); err == nil {
					t.Error("the first subscription was not broken")
				}
				_ = broken.Close()

				sub := c.Subscribe(t.Context(), r.key, r.key+"2")
				defer func() { _ = sub.Close() }()
				for range 2 {
					if _, err := sub.Receive(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if n := r.Client.Publish(t.Context(), r.key, "hello").Val(); n != 1 {
					t.Fatalf("%d subscribers, want 1", n)
				}
				if m, err := sub.ReceiveMessage(t.Context()); err != nil || m.Payload != "hello" {
					t.Fatalf("%v (%v), want hello", m, err)
				}
			})
		})
	}
}

// Replies of every shape pass unchanged.
func TestRepliesPass(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		r.proxy.Add(faultproxy.Rule{Times: faultproxy.Always, Fault: faultproxy.Slice(7)})
		o := options(r.Server, r.proxy)
		o.Protocol = 3
		c := redis.NewClient(o)
		defer func() { _ = c.Close() }()
		ctx, big := t.Context(), string(make([]byte, 2000))
		if err := c.HSet(ctx, r.key, "a", big, "b", "").Err(); err != nil {
			t.Fatal(err)
		}
		if m := c.HGetAll(ctx, r.key).Val(); m["a"] != big || len(m) != 2 {
			t.Errorf("HGETALL: %d fields", len(m))
		}
		if v, err := c.HMGet(ctx, r.key, "b", "missing").Result(); err != nil || v[0] != "" || v[1] != nil {
			t.Errorf("HMGET: %v (%v)", v, err)
		}
		nested, err := c.Eval(ctx, "return {1, {'a', {}}, false}", nil).Slice()
		if err != nil || len(nested) != 3 || len(nested[1].([]any)) != 2 {
			t.Errorf("EVAL: %v (%v)", nested, err)
		}
		if _, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() }); err != nil {
			t.Errorf("MULTI: %v", err)
		}
	})
}
