package model_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/model"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
)

func TestMain(m *testing.M) { testserver.Run(m) }

var ctx = context.Background()

// prelude stands before every script: it takes the time from the test, keeps what
// is published in a list, and refuses keys that are not declared.
var prelude = func() string {
	text, err := os.ReadFile("../../luascripts/testdata/prelude.lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}()

// underTest returns the script with the prelude before it.
func underTest(s *luascripts.Script) *luascripts.Script {
	source := prelude + s.Source
	sum := sha1.Sum([]byte(source))
	return &luascripts.Script{Name: s.Name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// bench is one partition on a server and the model of it, side by side.
type bench struct {
	*rapid.T
	rdb   redis.UniversalClient
	base  string
	space *model.Space

	lanes  map[string]int64 // numbers by session lane
	ids    int
	tokens int
	claims []claim // whatever was claimed, the newest last
	again  *sentCall
}

// claim is a lease that was given once. It may be gone.
type claim struct {
	id, token, queue string
	lane             int8
}

// sentCall is the last call of a session, and what it was answered.
type sentCall struct {
	script *luascripts.Script
	call   *luascripts.Call
	answer func(reply []any) any
}

func (b *bench) key(name string) string { return b.base + name }

// run makes a call at the model's time.
func (b *bench) run(s *luascripts.Script, c *luascripts.Call) []any {
	args := append(append([]any(nil), c.Args...), fmt.Sprintf("%d|%s|", b.space.Now, b.key("said")))
	reply, err := underTest(s).Run(ctx, b.rdb, c.Keys, args)
	if err != nil {
		b.Fatalf("%s: %v", s.Name, err)
	}
	return reply
}

// session makes a call with the lane's next number and compares its answer, as
// answer reads it, with the model's.
func (b *bench) session(s *luascripts.Script, fill func(*luascripts.Call, luascripts.Session), answer func([]any) any, want any) {
	lane := rapid.SampledFrom([]string{"c.1", "c.2"}).Draw(b.T, "lane")
	b.lanes[lane]++
	c := new(luascripts.Call)
	fill(c, luascripts.Session{Lane: lane, Seq: b.lanes[lane]})
	reply := b.run(s, c)
	if status := luascripts.StatusOf(reply); status != luascripts.OK {
		b.Fatalf("%s: status %v", s.Name, status)
	}
	b.equal(s.Name, answer(reply), want)
	b.again = &sentCall{s, c, answer}
}

func (b *bench) equal(what string, got, want any) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Fatalf("%s: (-model +scripts)\n%s", what, diff)
	}
}

// check compares the whole key space, and what was published.
func (b *bench) check(*rapid.T) {
	b.equal("keys", b.stored(), expected(b.space))
	said := b.rdb.LRange(ctx, b.key("said"), 0, -1).Val()
	b.rdb.Del(ctx, b.key("said"))
	for i, line := range said {
		channel, payload, _ := strings.Cut(line, "\t")
		if worker, ok := strings.CutPrefix(channel, "wake:"); ok {
			said[i] = "wake " + worker
			continue
		}
		said[i] = channel + " " + payload
	}
	slices.Sort(said)
	slices.Sort(b.space.Said)
	b.equal("published", strings.Join(said, ", "), strings.Join(b.space.Said, ", "))
	b.space.Said = nil
}

var channels = luascripts.Channels{Wake: "wake:", Events: "event", Cancels: "cancel"}

// perQueue are the key names that carry a queue.
var perQueue = []string{"scheduled", "retrying", "snoozed", "waiting", "leased", "completed", "discarded", "cancelled", "waiters", "ready"}

// keys fills the string fields of a struct of keys with those of a queue and lane.
func keys[T any](b *bench, queue string, lane int8) *T {
	k := new(T)
	v := reflect.ValueOf(k).Elem()
	for i := range v.NumField() {
		field, name := v.Field(i), strings.ToLower(v.Type().Field(i).Name)
		if slices.Contains(perQueue, name) {
			name += ":" + queue
		}
		switch {
		case name == "name":
			field.SetString(queue)
		case field.Kind() == reflect.Array:
			for i := range field.Len() {
				field.Index(i).SetString(b.key(name + ":" + laneNames[i]))
			}
		case field.Kind() == reflect.String && name == "ready:"+queue:
			field.SetString(b.key(name + ":" + laneNames[lane]))
		case field.Kind() == reflect.String:
			field.SetString(b.key(name))
		}
	}
	return k
}
