package queue

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// keyParts is a key taken apart. Partition is -1 for what has none.
type keyParts struct {
	Prefix    string
	Partition int
	Name      string
	Queue     string
	Lane      string
	Worker    string
}

// nameGrammar is what wire.ValidName says, said once more.
var nameGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

var keyGrammar = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,63}):` +
	`(?:meta|wake:([^:{}]+)|\{(0|[1-9][0-9]{0,3})\}:([a-z]+)(?::([A-Za-z0-9][A-Za-z0-9._-]{0,63})(?::([hdl]))?)?)$`)

// parseKey is the inverse of what keyspace builds.
func parseKey(key string) (keyParts, bool) {
	m := keyGrammar.FindStringSubmatch(key)
	if m == nil {
		return keyParts{}, false
	}
	parts := keyParts{Prefix: m[1], Partition: -1, Name: m[4], Queue: m[5], Lane: m[6], Worker: m[2]}
	switch {
	case m[3] != "":
		parts.Partition, _ = strconv.Atoi(m[3])
	case m[2] != "":
		parts.Name = "wake"
	default:
		parts.Name = "meta"
	}
	return parts, true
}

// buildKeys returns every key of one partition and one queue, with what parsing
// each should give.
func buildKeys(ks *keyspace, p int, queue, worker string) map[string]keyParts {
	pk := ks.partition(p)
	keys := map[string]keyParts{
		ks.meta():       {Prefix: ks.prefix, Partition: -1, Name: "meta"},
		ks.wake(worker): {Prefix: ks.prefix, Partition: -1, Name: "wake", Worker: worker},
	}
	for name, key := range map[string]string{
		"steps": pk.steps(), "ids": pk.ids(), "ghosts": pk.ghosts(), "tries": pk.tries(), "sess": pk.sess(), "sessx": pk.sessx(),
		"uniq": pk.uniq(), "uniqof": pk.uniqof(), "uniqx": pk.uniqx(), "results": pk.results(), "history": pk.history(),
		"workers": pk.workers(), "queues": pk.queues(), "paused": pk.paused(), "stats": pk.stats(), "subs": pk.subs(),
		"events": pk.events(), "cancel": pk.cancel(), "sweep": pk.sweep(), "runs": pk.runs(), "journals": pk.journals(),
		"building": pk.building(), "offers": pk.offers(), "handed": pk.handed(),
	} {
		keys[key] = keyParts{Prefix: ks.prefix, Partition: p, Name: name}
	}
	qk := pk.queue(queue)
	for name, key := range map[string]string{
		"scheduled": qk.scheduled, "retrying": qk.retrying, "snoozed": qk.snoozed, "waiting": qk.waiting, "leased": qk.leased,
		"completed": qk.completed, "discarded": qk.discarded, "cancelled": qk.cancelled, "waiters": qk.waiters,
	} {
		keys[key] = keyParts{Prefix: ks.prefix, Partition: p, Name: name, Queue: queue}
	}
	for lane, letter := range map[wire.Priority]string{wire.High: "h", wire.Default: "d", wire.Low: "l"} {
		keys[qk.ready[lane]] = keyParts{Prefix: ks.prefix, Partition: p, Name: "ready", Queue: queue, Lane: letter}
	}
	return keys
}

const keysOfEverySort = 2 + len(fixedNames) + 9 + laneCount

// checkKeys checks that each key says what it was built from, that no two are the
// same, and that all of a partition share its hash tag.
func checkKeys(t interface{ Fatalf(string, ...any) }, ks *keyspace, p int, queue, worker string) {
	keys := buildKeys(ks, p, queue, worker)
	if len(keys) != keysOfEverySort {
		t.Fatalf("%d different keys of %d", len(keys), keysOfEverySort)
	}
	for key, want := range keys {
		got, ok := parseKey(key)
		if !ok || got != want {
			t.Fatalf("%s: parsed as %+v, %v; built from %+v", key, got, ok, want)
		}
		if tag := hashTag(key); want.Partition >= 0 && tag != strconv.Itoa(p) {
			t.Fatalf("%s: hash tag %q", key, tag)
		}
	}
}

// hashTag is Redis Cluster's rule: what is between the first brace and the next
// closing one.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}

func TestKeysSayWhatTheyWereBuiltFrom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ks, err := newKeyspace(anyName.Draw(t, "prefix"), 1<<rapid.IntRange(0, 12).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		p := rapid.IntRange(0, len(ks.partitions)-1).Draw(t, "partition")
		checkKeys(t, ks, p, anyName.Draw(t, "queue"), anyName.Draw(t, "worker"))
	})
}

// FuzzKeys: a name within the grammar builds keys that are told apart, and one
// outside of it is refused where it enters.
func FuzzKeys(f *testing.F) {
	f.Add("cyclone", "default", int64(1))
	f.Add("a}:{0", "q:h", int64(-1))
	f.Add("x", "*", int64(1<<62))
	f.Fuzz(func(t *testing.T, prefix, queue string, id int64) {
		ks, err := newKeyspace(prefix, 16)
		if (err == nil) != wire.ValidName(prefix) {
			t.Fatalf("prefix %q: %v", prefix, err)
		}
		if err != nil || !wire.ValidName(queue) || id < 1 {
			return
		}
		checkKeys(t, ks, int(id&15), queue, queue)
	})
}

// TestHostileNamesNeverEnterAKey tries all names of two bytes and some worse ones.
func TestHostileNamesNeverEnterAKey(t *testing.T) {
	t.Parallel()
	names := []string{"", "a", strings.Repeat("a", 65), "a b", "{0}", "}:{1", "q:h", "../../x", "世界", "a\x00", "a\n", "*", "?", "[a]", `\`}
	for a := range 256 {
		for b := range 256 {
			names = append(names, string([]byte{byte(a), byte(b)}))
		}
	}
	for _, name := range names {
		ks, err := newKeyspace(name, 1)
		if (err == nil) != nameGrammar.MatchString(name) {
			t.Fatalf("prefix %q: %v", name, err)
		}
		if err == nil {
			checkKeys(t, ks, 0, name, name)
		}
	}
}

func TestRunsFindTheirPartition(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2, 16, maxPartitions} {
		ks, err := newKeyspace("cyclone", partitions)
		if err != nil {
			t.Fatal(err)
		}
		for seq := range int64(3) {
			for p := range int64(min(partitions, 4)) {
				if got := ks.of((seq+1)*int64(partitions) + p); got != ks.partition(int(p)) {
					t.Errorf("%d partitions: run %d is not on partition %d", partitions, seq, p)
				}
			}
		}
	}
}

func TestKeyspaceRefuses(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{-1, 0, 3, 6, 4095, 8192} {
		if _, err := newKeyspace("cyclone", partitions); err == nil || !strings.Contains(err.Error(), strconv.Itoa(partitions)) {
			t.Errorf("%d partitions: %v", partitions, err)
		}
	}
	if _, err := newKeyspace("a:b", 1); err == nil || !strings.Contains(err.Error(), `"a:b"`) {
		t.Errorf("prefix a:b: %v", err)
	}
}

func TestQueueKeysAreBuiltOnce(t *testing.T) {
	t.Parallel()
	pk := newPartitionKeys("cyclone", 0)
	var wg sync.WaitGroup
	built := make([]*queueKeys, 8)
	for i := range built {
		wg.Go(func() { built[i] = pk.queue("mail") })
	}
	wg.Wait()
	for _, qk := range built {
		if qk != built[0] {
			t.Error("built more than once")
		}
	}
	for i := range maxCachedQueues + 10 {
		pk.queue(fmt.Sprintf("queue-%d", i))
	}
	if n := len(pk.byQueue); n > maxCachedQueues {
		t.Errorf("%d queues are remembered", n)
	}
	if diff := cmp.Diff(*newQueueKeys(pk.base, "one-more"), *pk.queue("one-more"), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Error(diff)
	}
}

func TestHotPathBuildsNoKeys(t *testing.T) {
	ks, err := newKeyspace("cyclone", 16)
	if err != nil {
		t.Fatal(err)
	}
	ks.of(17).queue("default")
	if n := testing.AllocsPerRun(100, func() {
		pk := ks.of(17)
		_, _, _ = pk.steps(), pk.sess(), pk.queue("default").ready[wire.High]
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkQueueKeys(b *testing.B) {
	b.ReportAllocs()
	pk := newPartitionKeys("cyclone", 0)
	for b.Loop() {
		pk.queue("default")
	}
}
