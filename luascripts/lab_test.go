package luascripts_test

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// start is the time at which every lab begins, in ms.
const start = 1_800_000_000_000

// lab is one partition on one server, driven by bare script calls at a time that
// the test sets. Scripts run behind the prelude, which refuses undeclared keys.
type lab struct {
	*testing.T
	rdb      redis.UniversalClient
	base     string // before the name of every key of the partition
	messages string // list of what was published
	now      int64  // the time of the next call, ms
	session  luascripts.Session
	tokens   int
	bare     bool // run scripts as they are, at the server's own time
}

// each runs f on every kind of server.
func each(t *testing.T, f func(l *lab)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		t.Parallel()
		f(newLab(t, s))
	})
}

func newLab(t *testing.T, s testserver.Server) *lab {
	l := &lab{T: t, rdb: s.Client, base: s.Prefix + ":{0}:", messages: s.Prefix + ":messages", now: start}
	l.session = luascripts.Session{Lane: "c.1", Seq: l.open("c.1")[0]}
	return l
}

//go:embed testdata/prelude.lua
var prelude string

// underTest returns the script with the prelude before it.
func underTest(s *luascripts.Script) *luascripts.Script {
	source := prelude + s.Source
	sum := sha1.Sum([]byte(source))
	return &luascripts.Script{Name: s.Name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// run makes a call at the lab's time.
func (l *lab) run(s *luascripts.Script, c *luascripts.Call) []any {
	l.Helper()
	return l.trace(s, c, "")
}

// trace is run that also keeps the names of all commands in a list.
func (l *lab) trace(s *luascripts.Script, c *luascripts.Call, commands string) []any {
	l.Helper()
	reply, err := l.try(s, c, commands)
	if err != nil {
		l.Fatalf("%s: %v", s.Name, err)
	}
	return reply
}

func (l *lab) try(s *luascripts.Script, c *luascripts.Call, commands string) ([]any, error) {
	if l.bare {
		return s.Run(ctx, l.rdb, c.Keys, c.Args)
	}
	args := append(slices.Clip(c.Args), fmt.Sprintf("%d|%s|%s", l.now, l.messages, commands))
	return underTest(s).Run(ctx, l.rdb, c.Keys, args)
}

// ok makes a call that must be answered with status 0.
func (l *lab) ok(s *luascripts.Script, c *luascripts.Call) []any {
	l.Helper()
	reply := l.run(s, c)
	if status := luascripts.StatusOf(reply); status != luascripts.OK {
		l.Fatalf("%s: status %v", s.Name, status)
	}
	return reply
}

// next returns the lab's session with the next number.
func (l *lab) next() luascripts.Session {
	l.session.Seq++
	return l.session
}

func (l *lab) key(name string) string { return l.base + name }

// perQueue are the key names that carry a queue.
var perQueue = map[string]bool{
	"scheduled": true, "retrying": true, "snoozed": true, "waiting": true, "leased": true, "completed": true, "discarded": true,
	"cancelled": true, "waiters": true, "ready": true,
}

// named fills the string fields of a struct of keys with the lab's keys of the
// queue and its default lane.
func named[T any](l *lab, queue string) *T {
	keys := new(T)
	v := reflect.ValueOf(keys).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		name := strings.ToLower(v.Type().Field(i).Name)
		if perQueue[name] {
			name += ":" + queue
		}
		switch {
		case name == "name":
			field.SetString(queue)
		case field.Kind() == reflect.String && name == "ready:"+queue:
			field.SetString(l.key(name + ":d"))
		case field.Kind() == reflect.String:
			field.SetString(l.key(name))
		case field.Kind() == reflect.Array:
			for lane := range field.Len() {
				field.Index(lane).SetString(l.key(name + ":" + "hdl"[lane:lane+1]))
			}
		}
	}
	return keys
}

func (l *lab) channels() luascripts.Channels {
	return luascripts.Channels{Wake: "wake.", Events: "events", Cancels: "cancels"}
}

// said returns what was published since the last call, "channel payload" each
// with the lines of an event joined by '/'.
func (l *lab) said() []string {
	l.Helper()
	lines, err := l.rdb.LRange(ctx, l.messages, 0, -1).Result()
	if err != nil {
		l.Fatal(err)
	}
	l.rdb.Del(ctx, l.messages)
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(strings.Replace(line, "\t", " ", 1), "\n", "/")
	}
	return lines
}

// watch makes transitions publish events.
func (l *lab) watch() { l.put(l.rdb.Set(ctx, l.key("subs"), "1", 0)) }

// put checks a command that the test itself makes.
func (l *lab) put(cmd redis.Cmder) {
	l.Helper()
	if err := cmd.Err(); err != nil {
		l.Fatal(err)
	}
}

// ctx is the context of every command: calls end by their replies.
var ctx = context.Background()
