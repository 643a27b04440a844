package luascripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// header is the comment at the head of a script.
type header struct {
	purpose        string
	keys, perQueue []string
	per            []keyGroup // keys that come once for each of something, queues first
	args, returns  string
}

// keyGroup are the keys that a call has for each queue, run or step of it.
type keyGroup struct {
	of   string
	keys []string
}

var headerLine = regexp.MustCompile(`^-- (KEYS|KEYS per (queue|run|step)|ARGV|RETURNS): (.+)$`)

func readHeader(t *testing.T, name string) (h header, body string) {
	t.Helper()
	text, err := os.ReadFile(name + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	purpose, ok := strings.CutPrefix(string(text), "-- "+name+": ")
	if !ok {
		t.Fatalf("%s.lua does not begin with `-- %s: purpose`", name, name)
	}
	purpose, _, _ = strings.Cut(purpose, "\n-- KEYS")
	h.purpose = strings.ReplaceAll(purpose, "\n-- ", " ")
	var order []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "--") || strings.HasPrefix(line, "--@") {
			break
		}
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		order = append(order, m[1])
		switch m[1] {
		case "KEYS":
			h.keys = strings.Fields(m[3])
		case "ARGV":
			h.args = m[3]
		case "RETURNS":
			h.returns = m[3]
		default:
			h.per = append(h.per, keyGroup{m[2], strings.Fields(m[3])})
		}
	}
	want := []string{"KEYS"}
	for _, g := range h.per {
		want = append(want, "KEYS per "+g.of)
		if g.of == "queue" {
			h.perQueue = g.keys
		}
	}
	want = append(want, "ARGV", "RETURNS")
	if diff := cmp.Diff(want, order); diff != "" {
		t.Fatalf("parts of the header, -want +got\n%s", diff)
	}
	return h, string(text)
}

// TestHeaderIsWhatTheScriptBinds holds each header against the script below it.
func TestHeaderIsWhatTheScriptBinds(t *testing.T) {
	t.Parallel()
	for _, s := range luascripts.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			h, body := readHeader(t, s.Name)
			bound := boundKeys(t, body)
			if diff := cmp.Diff(h.keys, bound); diff != "" {
				t.Errorf("fixed keys, -header +bound\n%s", diff)
			}
			checkOffsets(t, h, s.Source)
		})
	}
}

var (
	binding  = regexp.MustCompile(`(?m)^local ([\w, ]+) = (.*KEYS\[\d+\].*)$`)
	keyIndex = regexp.MustCompile(`KEYS\[(\d+)\]`)
	number   = regexp.MustCompile(`(?m)^local ([A-Z_, ]+) = ([\d, ]+)$`)
)

// stateIndexes are the names that lib/where.lua gives a table of indexes.
var stateIndexes = []string{"scheduled", "retrying", "snoozed", "waiting", "completed", "discarded", "cancelled"}

// boundKeys returns the names under which a script binds its fixed keys, by
// position. A table's elements are named as lib/where.lua names them.
func boundKeys(t *testing.T, body string) []string {
	t.Helper()
	var names []string
	put := func(position, name string) {
		i, _ := strconv.Atoi(position)
		for len(names) < i {
			names = append(names, "")
		}
		if names[i-1] != "" && names[i-1] != name {
			t.Errorf("KEYS[%d] is bound as %s and as %s", i, names[i-1], name)
		}
		names[i-1] = name
	}
	for _, m := range binding.FindAllStringSubmatch(body, -1) {
		table, isTable := strings.CutPrefix(m[2], "{")
		if isTable {
			for k, element := range strings.Split(strings.TrimSuffix(table, "}"), ",") {
				if p := keyIndex.FindStringSubmatch(element); p != nil {
					put(p[1], stateIndexes[k])
				}
			}
			continue
		}
		left, right := strings.Split(m[1], ","), strings.Split(m[2], ",")
		if len(left) != len(right) {
			t.Fatalf("cannot read %q", m[0])
		}
		for k := range left {
			put(keyIndex.FindStringSubmatch(right[k])[1], strings.TrimSpace(left[k]))
		}
	}
	return names
}

// checkOffsets holds a script's offsets into the keys of a queue against its header.
func checkOffsets(t *testing.T, h header, body string) {
	t.Helper()
	if h.perQueue == nil {
		return
	}
	seen := map[int]bool{}
	for _, m := range number.FindAllStringSubmatch(body, -1) {
		names, values := strings.Split(m[1], ", "), strings.Split(m[2], ", ")
		for i, name := range names {
			v, _ := strconv.Atoi(values[i])
			switch at := slices.Index(h.perQueue, strings.ToLower(name)); {
			case name == "FIXED" && v != len(h.keys), name == "PER_QUEUE" && v != len(h.perQueue):
				t.Errorf("%s is %d", name, v)
			case name == "READY":
				if v+3 != len(h.perQueue) || h.perQueue[v] != "ready_h" {
					t.Errorf("READY is %d", v)
				}
				seen[v+1], seen[v+2], seen[v+3] = true, true, true
			case at >= 0 && at+1 != v:
				t.Errorf("%s is %d and the header has it at %d", name, v, at+1)
			case at >= 0:
				seen[v] = true
			}
		}
	}
	if strings.Contains(body, "PER_QUEUE") && len(seen) != len(h.perQueue) {
		t.Errorf("%d of the %d keys of a queue are bound", len(seen), len(h.perQueue))
	}
}

// names returns a struct whose fields hold their own names in lower case.
func names[T any]() *T {
	out := new(T)
	v := reflect.ValueOf(out).Elem()
	for i := range v.NumField() {
		name := strings.ToLower(v.Type().Field(i).Name)
		switch field := v.Field(i); field.Kind() {
		case reflect.String:
			field.SetString(name)
		case reflect.Array:
			for lane := range field.Len() {
				field.Index(lane).SetString(name + "_" + "hdl"[lane:lane+1])
			}
		}
	}
	return out
}

// bindings makes one call of each script with keys that are their own names. Two
// queues, runs or steps where there are keys for each of them.
var bindings = map[string]func(c *luascripts.Call){
	"open": func(c *luascripts.Call) { luascripts.OpenCall(c, *names[luascripts.OpenKeys]()) },
	"enqueue": func(c *luascripts.Call) {
		q := *names[luascripts.EnqueueQueue]()
		luascripts.EnqueueCall(c, names[luascripts.EnqueueKeys](), &luascripts.EnqueueInput{Queues: []luascripts.EnqueueQueue{q, q}})
	},
	"turn": func(c *luascripts.Call) {
		q := *names[luascripts.TurnQueue]()
		luascripts.TurnCall(c, names[luascripts.TurnKeys](), &luascripts.TurnInput{Queues: []luascripts.TurnQueue{q, q}})
	},
	"extend": func(c *luascripts.Call) {
		g := luascripts.ExtendGroup{Leased: "leased"}
		luascripts.ExtendCall(c, *names[luascripts.ExtendKeys](), 1, "w", nil, []luascripts.ExtendGroup{g, g})
	},
	"cancel": func(c *luascripts.Call) {
		luascripts.CancelCall(c, names[luascripts.CancelKeys](), luascripts.Session{}, luascripts.Channels{}, "q", nil, nil)
	},
	"delete": func(c *luascripts.Call) {
		luascripts.DeleteCall(c, names[luascripts.DeleteKeys](), luascripts.Session{}, luascripts.Channels{}, "q", nil, nil)
	},
	"revive": func(c *luascripts.Call) {
		luascripts.ReviveCall(c, names[luascripts.ReviveKeys](), luascripts.Session{}, luascripts.Channels{}, 0, "q", nil, nil)
	},
	"reschedule": func(c *luascripts.Call) {
		luascripts.RescheduleCall(c, names[luascripts.RescheduleKeys](), luascripts.Session{}, luascripts.Channels{}, 0, "q", nil,
			&luascripts.RescheduleStep{ID: "1", Times: []luascripts.RescheduleTime{{Field: "z:nap#1", Seen: "a", To: "b"}}})
	},
	"purge": func(c *luascripts.Call) {
		luascripts.PurgeCall(c, names[luascripts.PurgeKeys](), luascripts.Session{}, luascripts.Channels{}, "q", true, true, nil, []string{"1"})
	},
	"build": func(c *luascripts.Call) {
		q, r := *names[luascripts.EnqueueQueue](), luascripts.BuildRun{Key: "run"}
		luascripts.BuildCall(c, names[luascripts.BuildKeys](), &luascripts.BuildInput{
			Queues: []luascripts.EnqueueQueue{q, q}, Runs: []luascripts.BuildRun{r, r},
		})
	},
	"sweep": func(c *luascripts.Call) {
		q, r := *names[luascripts.SweepQueue](), luascripts.SweepRun{Key: "run"}
		luascripts.SweepCall(c, names[luascripts.SweepKeys](), &luascripts.SweepInput{
			Queues: []luascripts.SweepQueue{q, q}, Runs: []luascripts.SweepRun{r, r},
		})
	},
	"forget": func(c *luascripts.Call) {
		q := luascripts.ForgetQueue{Discarded: "discarded"}
		luascripts.ForgetCall(c, names[luascripts.ForgetKeys](), &luascripts.ForgetInput{
			Queues: []luascripts.ForgetQueue{q, q}, Journals: []string{"journal", "journal"},
		})
	},
	"pause": func(c *luascripts.Call) {
		luascripts.PauseCall(c, *names[luascripts.PauseKeys](), luascripts.Session{}, luascripts.Channels{}, 0, "q", true)
	},
	"state": func(c *luascripts.Call) { luascripts.StateCall(c, names[luascripts.StateKeys](), "1") },
	"trim":  func(c *luascripts.Call) { luascripts.TrimCall(c, names[luascripts.TrimKeys](), 1, 1, 1) },
	"clamp": func(c *luascripts.Call) { luascripts.ClampCall(c, "leased", 1, 1) },
	"advance": func(c *luascripts.Call) {
		q := *names[luascripts.TurnQueue]()
		step := luascripts.AdvanceItem{Op: luascripts.OpComplete, Run: "run", Journal: "journal"}
		single := luascripts.AdvanceItem{Op: luascripts.OpComplete}
		luascripts.AdvanceCall(c, names[luascripts.AdvanceKeys](), &luascripts.AdvanceInput{
			Queues: []luascripts.TurnQueue{q, q}, Items: []luascripts.AdvanceItem{step, single, step},
		})
	},
	"record": func(c *luascripts.Call) {
		luascripts.RecordCall(c, names[luascripts.RecordKeys](), []luascripts.RecordQueue{
			{Leased: "leased", Items: []luascripts.RecordItem{{Journal: "journal"}}},
			{Leased: "leased", Items: []luascripts.RecordItem{{Journal: "journal"}}},
		})
	},
	"take": func(c *luascripts.Call) {
		luascripts.TakeCall(c, names[luascripts.TakeKeys](), &luascripts.TakeInput{})
	},
	"suspend": func(c *luascripts.Call) {
		q := *names[luascripts.TurnQueue]()
		step := luascripts.SuspendItem{Signals: "signals", Journal: "journal"}
		luascripts.SuspendCall(c, names[luascripts.SuspendKeys](), &luascripts.SuspendInput{
			Queues: []luascripts.TurnQueue{q, q}, Items: []luascripts.SuspendItem{step, step},
		})
	},
	"signal": func(c *luascripts.Call) {
		q := *names[luascripts.TurnQueue]()
		luascripts.SignalCall(c, names[luascripts.SignalKeys](), &luascripts.SignalInput{Queues: []luascripts.TurnQueue{q, q}})
	},
	"tidy": func(c *luascripts.Call) { luascripts.TidyCall(c, names[luascripts.TidyKeys](), 1, 1, 1, nil) },
}

// TestHeaderIsWhatTheBindingSends holds each header against its Go binding.
func TestHeaderIsWhatTheBindingSends(t *testing.T) {
	t.Parallel()
	for _, s := range luascripts.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			h, _ := readHeader(t, s.Name)
			bind := bindings[s.Name]
			if bind == nil {
				t.Fatal("no call of this script in the table")
			}
			var c luascripts.Call
			bind(&c)
			want := slices.Clone(h.keys)
			for _, g := range h.per {
				want = slices.Concat(want, g.keys, g.keys)
			}
			if diff := cmp.Diff(want, c.Keys); diff != "" {
				t.Errorf("-header +sent\n%s", diff)
			}
		})
	}
	if len(bindings) != len(luascripts.All()) {
		t.Errorf("%d calls for %d scripts", len(bindings), len(luascripts.All()))
	}
}

// TestHeaderOfEveryLibrary: each file of lib/ says what it is for.
func TestHeaderOfEveryLibrary(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lib/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		if want := fmt.Sprintf("-- %s: ", name); !strings.HasPrefix(string(text), want) {
			t.Errorf("%s does not begin with %q", file, want)
		}
	}
}
