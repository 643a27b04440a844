package luascripts_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// commands are all Redis commands that scripts use: whether each writes, whether
// it is refused at maxmemory, and how many of its arguments are keys (-1: all).
var commands = map[string]struct {
	writes, needsMemory bool
	keys                int
}{
	"TIME":    {},
	"PUBLISH": {}, // channels are no keys
	"EXISTS":  {keys: -1},
	"GET":     {keys: 1}, "HEXISTS": {keys: 1}, "HGET": {keys: 1}, "HMGET": {keys: 1},
	"ZCARD": {keys: 1}, "ZMSCORE": {keys: 1}, "ZRANGE": {keys: 1}, "ZRANGEBYSCORE": {keys: 1}, "ZSCORE": {keys: 1},
	"GETRANGE": {keys: 1}, "TYPE": {keys: 1},
	"DEL": {writes: true, keys: -1}, "UNLINK": {writes: true, keys: -1},
	"HDEL": {writes: true, keys: 1}, "RPOP": {writes: true, keys: 1}, "ZREM": {writes: true, keys: 1},
	"ZREMRANGEBYRANK": {writes: true, keys: 1},
	"HINCRBY":         {writes: true, needsMemory: true, keys: 1},
	"HSET":            {writes: true, needsMemory: true, keys: 1},
	"HSETNX":          {writes: true, needsMemory: true, keys: 1},
	"INCRBY":          {writes: true, needsMemory: true, keys: 1},
	"LPUSH":           {writes: true, needsMemory: true, keys: 1},
	"RPUSH":           {writes: true, needsMemory: true, keys: 1},
	"SADD":            {writes: true, needsMemory: true, keys: 1},
	"SET":             {writes: true, needsMemory: true, keys: 1},
	"ZADD":            {writes: true, needsMemory: true, keys: 1},
}

// TestStaticKeysAreDeclared: no command of any script gets a key that does not
// come out of KEYS, and none is unknown to the table above.
func TestStaticKeysAreDeclared(t *testing.T) {
	t.Parallel()
	for _, s := range luascripts.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			chunk := parseLua(t, s.Source)
			origin := trace(chunk)
			if n := strings.Count(s.Source, "redis.") - len(redisCalls(chunk)) - strings.Count(s.Source, "'redis."); n != 0 {
				t.Errorf("%d uses of redis that are no redis.call", n)
			}
			for _, call := range redisCalls(chunk) {
				name := commandOf(call)
				command, known := commands[name]
				if !known {
					t.Errorf("line %d: command %q is not in the table", call.Line(), name)
					continue
				}
				n := command.keys
				if n < 0 {
					n = len(call.Args) - 1
				}
				for _, key := range call.Args[1 : 1+n] {
					if !origin.isKey(key) {
						t.Errorf("line %d: %s gets a key that does not come out of KEYS", call.Line(), name)
					}
				}
			}
		})
	}
}

// writers are the shared functions that write.
var writers = []string{
	"answer", "apply_command", "apply_tx", "begin", "begin_holding", "claim", "close_run", "count", "delay", "dispose", "end_step", "free_unique",
	"hand_over", "journal_write", "leave_line", "let_go", "note", "orphans",
	"push_ready", "replace", "send", "serve", "settle", "settle_ended", "stand_in_line", "wake", "wake_peer", "wake_touched", "write_tries",
}

// producers are the scripts that store new runs, or signals for them.
var producers = map[string]bool{"enqueue": true, "build": true, "signal": true}

const writeMark = "-- Write"

// TestStaticNothingIsWrittenBeforeTheMark: guards stand before the line that
// begins with "-- Write", and writes behind it. The one exception is the final
// refusal of what stores new runs: it keeps its status and returns it.
func TestStaticNothingIsWrittenBeforeTheMark(t *testing.T) {
	t.Parallel()
	for _, s := range luascripts.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(s.Name + ".lua")
			if err != nil {
				t.Fatal(err)
			}
			mark := markedLine(t, string(text))
			chunk := parseLua(t, string(text))
			writes := 0
			walk(chunk, func(node any) {
				call, ok := node.(*ast.FuncCallExpr)
				if !ok || !isWrite(call) {
					return
				}
				writes++
				if refusal := producers[s.Name] && calledName(call) == "answer"; call.Line() < mark && !refusal {
					t.Errorf("line %d writes before the mark", call.Line())
				}
			})
			if (writes > 0) != (mark > 0) {
				t.Errorf("%d writes, mark on line %d", writes, mark)
			}
		})
	}
}

// markedLine returns the line of the write mark, 0 when there is none.
func markedLine(t *testing.T, text string) int {
	t.Helper()
	at, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, writeMark) {
			if at != 0 {
				t.Errorf("marks on lines %d and %d", at, n)
			}
			at = n
		}
	}
	return at
}

// TestStaticFirstWrite: what drains makes in every call, as its first one, a write
// that needs no memory, so that the rest runs at maxmemory; what stores new runs
// begins with one that is refused. A script of which no write needs memory is free.
func TestStaticFirstWrite(t *testing.T) {
	t.Parallel()
	for _, s := range luascripts.All() {
		text, err := os.ReadFile(s.Name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		mark := markedLine(t, string(text))
		if mark == 0 || s.Name == "signal" { // which is refused or not: TestMaxmemoryRefusesSignals
			continue
		}
		chunk := parseLua(t, string(text))
		calls := slices.DeleteFunc(redisCalls(chunk), func(c *ast.FuncCallExpr) bool {
			return c.Line() < mark || !commands[commandOf(c)].writes
		})
		if !slices.ContainsFunc(calls, func(c *ast.FuncCallExpr) bool { return commands[commandOf(c)].needsMemory }) && !sharedWrites(chunk) {
			continue
		}
		slices.SortFunc(calls, func(a, b *ast.FuncCallExpr) int { return a.Line() - b.Line() })
		first := commandOf(calls[0])
		if producers[s.Name] {
			if first != "HSET" {
				t.Errorf("%s writes %s first", s.Name, first)
			}
			continue
		}
		if commands[first].needsMemory {
			t.Errorf("%s writes %s first, which maxmemory refuses", s.Name, first)
		}
		if isTopLevel := slices.ContainsFunc(chunk, func(st ast.Stmt) bool {
			call, ok := st.(*ast.FuncCallStmt)
			return ok && call.Expr == ast.Expr(calls[0])
		}); !isTopLevel {
			t.Errorf("%s: the first write on line %d is not made in every call", s.Name, calls[0].Line())
		}
	}
}

// sharedWrites tells whether a script calls shared functions that need memory.
func sharedWrites(chunk []ast.Stmt) bool {
	found := false
	walk(chunk, func(n any) {
		call, ok := n.(*ast.FuncCallExpr)
		found = found || ok && slices.Contains([]string{"answer", "count", "note", "write_tries"}, calledName(call))
	})
	return found
}

// TestStaticBounds: what a script passes to unpack is bounded by its caller, so
// every range that it reads from an index names a limit.
func TestStaticBounds(t *testing.T) {
	t.Parallel()
	for _, s := range luascripts.All() {
		chunk := parseLua(t, s.Source)
		for _, call := range redisCalls(chunk) {
			switch name := commandOf(call); name {
			case "ZRANGEBYSCORE":
				fenced := len(call.Args) == 4 && constant(call.Args[2])+constant(call.Args[3]) == "00"
				if !fenced && !hasLimit(call) {
					t.Errorf("%s: line %d reads a range without a limit", s.Name, call.Line())
				}
			case "HGETALL", "HKEYS", "HVALS", "SMEMBERS", "LRANGE", "KEYS", "SCAN", "SORT":
				t.Errorf("%s: line %d reads a whole key", s.Name, call.Line())
			}
		}
	}
}

func hasLimit(call *ast.FuncCallExpr) bool {
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return constant(e) == "LIMIT" })
}

// TestStaticKeyCheckItself: the check sees through names, tables, loops and
// functions, and a foreign key through none of them.
func TestStaticKeyCheckItself(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		`redis.call('GET', KEYS[1])`:                                                              true,
		`redis.call('GET', ARGV[1])`:                                                              false,
		`redis.call('GET', KEYS[1] .. ':x')`:                                                      false,
		`local a, b = KEYS[1], ARGV[1] redis.call('GET', a)`:                                      true,
		`local a, b = KEYS[1], ARGV[1] redis.call('GET', b)`:                                      false,
		`local a = KEYS[1] a = 'x' redis.call('GET', a)`:                                          false,
		`redis.call('EXISTS', KEYS[1], 'x')`:                                                      false,
		`local t = {KEYS[1], KEYS[2]} redis.call('GET', t[2])`:                                    true,
		`local t = {KEYS[1], 'x'} redis.call('GET', t[2])`:                                        false,
		`local function f(k) redis.call('GET', k) end f(KEYS[1])`:                                 true,
		`local function f(k) redis.call('GET', k) end f(KEYS[1]) f('x')`:                          false,
		`local function f(i) return KEYS[i] end redis.call('GET', f(1))`:                          true,
		`local function f(i) if i then return 'x' end return KEYS[i] end redis.call('GET', f(1))`: false,
		`for _, k in ipairs({KEYS[1], KEYS[2]}) do redis.call('GET', k) end`:                      true,
		`for _, k in ipairs(ARGV) do redis.call('GET', k) end`:                                    false,
	} {
		chunk := parseLua(t, source)
		origin := trace(chunk)
		for _, call := range redisCalls(chunk) {
			got := true
			for _, key := range call.Args[1:] {
				got = got && origin.isKey(key)
			}
			if got != want {
				t.Errorf("%s: declared is %v", source, got)
			}
		}
	}
}
