package faultproxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Run(m) }

// rig is a server, a proxy before it, and a client through the proxy that
// neither repeats a call nor says anything on its own account.
type rig struct {
	testserver.Server
	proxy *faultproxy.Proxy
	via   *redis.Client
	key   string
}

func each(t *testing.T, f func(t *testing.T, r rig)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		t.Parallel()
		p, err := faultproxy.Start(s.Options().Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		via := redis.NewClient(options(s, p))
		t.Cleanup(func() { _ = via.Close() })
		f(t, rig{Server: s, proxy: p, via: via, key: s.Prefix + ":n"})
	})
}

func options(s testserver.Server, p *faultproxy.Proxy) *redis.Options {
	o := s.Options()
	o.Addr, o.MaxRetries, o.Protocol, o.DisableIdentity = p.Addr(), -1, 2, true
	return o
}

// executed returns how often the counter was raised, asked past the proxy.
func (r rig) executed(t *testing.T) int {
	t.Helper()
	n, err := r.Client.Get(t.Context(), r.key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}

// TestFaultsOfOneCall hits the second of three calls: whether the client sees
// an error, and how often the three were executed.
func TestFaultsOfOneCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		fault    faultproxy.Fault
		fails    bool
		executed int
	}{
		{"nothing", faultproxy.Fault{}, false, 3},
		{"drop request", faultproxy.DropRequest(), true, 2},
		{"drop reply", faultproxy.DropReply(), true, 3},
		{"reset", faultproxy.Reset(), true, 2},
		{"delay", faultproxy.Delay(time.Millisecond), false, 3},
		{"delay reply", faultproxy.DelayReply(time.Millisecond), false, 3},
		{"error", faultproxy.ErrorReply("LOADING as asked"), true, 2},
		{"slice", faultproxy.Slice(1), false, 3},
		{"cut request", faultproxy.CutRequest(9), true, 2},
		{"cut reply", faultproxy.CutReply(2), true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, r rig) {
				rule := r.proxy.Add(faultproxy.Rule{Command: "incr", Nth: 2, Fault: c.fault})
				for call := 1; call <= 3; call++ {
					err := r.via.Incr(t.Context(), r.key).Err()
					if failed := err != nil; failed != (c.fails && call == 2) {
						t.Errorf("call %d: %v", call, err)
					}
				}
				if n := r.executed(t); n != c.executed {
					t.Errorf("executed %d times, want %d", n, c.executed)
				}
				if rule.Hits() != 1 {
					t.Errorf("%d hits, want 1", rule.Hits())
				}
			})
		})
	}
}

func TestErrorReplyKeepsItsText(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		const text = "READONLY You can't write against a read only replica."
		r.proxy.Add(faultproxy.Rule{Command: "INCR", Fault: faultproxy.ErrorReply(text)})
		if err := r.via.Incr(t.Context(), r.key).Err(); err == nil || err.Error() != text {
			t.Fatalf("%v, want %s", err, text)
		}
	})
}

// Before and after its execution a call hangs until the client gives up, and
// the connection is of no use any more.
func TestHang(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    faultproxy.Fault
		executed int
	}{"request": {faultproxy.Hang(), 0}, "reply": {faultproxy.HangReply(), 1}} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r rig) {
				rule := r.proxy.Add(faultproxy.Rule{Command: "INCR", Fault: c.fault})
				o := options(r.Server, r.proxy)
				o.ReadTimeout = 100 * time.Millisecond
				impatient := redis.NewClient(o)
				defer func() { _ = impatient.Close() }()
				err := impatient.Incr(t.Context(), r.key).Err()
				if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Fatalf("%v, want a timeout", err)
				}
				<-rule.Hit()
				if n := r.executed(t); n != c.executed {
					t.Fatalf("executed %d times, want %d", n, c.executed)
				}
			})
		})
	}
}

// A pipeline that is cut at its 38th call has executed 37 and answered them. It
// is sent by hand: go-redis puts the error on every call of such a pipeline,
// the answered ones too.
func TestPartialPipeline(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		r.proxy.Add(faultproxy.Rule{Command: "INCR", Nth: 38, Fault: faultproxy.DropRequest()})
		conn, err := net.Dial("tcp", r.proxy.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		incr := fmt.Sprintf("*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n", len(r.key), r.key)
		if _, err := io.WriteString(conn, strings.Repeat(incr, 100)); err != nil {
			t.Fatal(err)
		}
		answers, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		answered := strings.Count(string(answers), ":")
		if n := r.executed(t); n != 37 || answered != 37 {
			t.Fatalf("%d executed, %d answered, want 37 of both", n, answered)
		}
	})
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r rig) {
		if err := r.via.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		r.proxy.Refuse(true)
		if err := r.via.Ping(t.Context()).Err(); err == nil {
			t.Fatal("a refusing proxy passed a call")
		}
		r.proxy.Refuse(false)
		if err := r.via.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	})
}
