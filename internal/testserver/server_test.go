package testserver_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Run(m) }

func TestEachServes(t *testing.T) {
	t.Parallel()
	var names []string
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		names = append(names, s.Name)
		if !strings.HasSuffix(t.Name(), "/"+s.Name) {
			t.Errorf("subtest %s runs on %s", t.Name(), s.Name)
		}
		if got, err := s.Client.Eval(t.Context(), "return 'lua'", nil).Text(); err != nil || got != "lua" {
			t.Errorf("EVAL: %q (%v)", got, err)
		}
		if (s.Embedded != nil) != (s.Name == testserver.Miniredis) {
			t.Errorf("embedded on %s: %v", s.Name, s.Embedded != nil)
		}
	})
	if !slices.Contains(names, testserver.Miniredis) {
		t.Errorf("ran on %v", names)
	}
}

func TestEachSharesOneServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string][]string{}
	for range 2 {
		testserver.Each(t, func(t *testing.T, s testserver.Server) {
			mu.Lock()
			defer mu.Unlock()
			seen[s.Name] = append(seen[s.Name], s.URL, s.Prefix)
		})
	}
	for name, v := range seen {
		if v[1] == v[3] {
			t.Errorf("%s: two tests with the prefix %s", name, v[1])
		}
		if same := v[0] == v[2]; same != (name != testserver.Miniredis) {
			t.Errorf("%s: the same server twice: %v", name, same)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		ctx := t.Context()
		p := s.Client.Pipeline()
		p.HSet(ctx, s.Prefix+":{0}:b", "f", "v")
		p.LPush(ctx, s.Prefix+":{0}:a", "v")
		if _, err := p.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		got, err := s.Keys(ctx)
		if want := []string{s.Prefix + ":{0}:a", s.Prefix + ":{0}:b"}; err != nil || !slices.Equal(got, want) {
			t.Fatalf("keys %v (%v), want %v", got, err, want)
		}
	})
}

// A shared server keeps nothing of a test that ended, and everything else.
func TestSweep(t *testing.T) {
	t.Parallel()
	var left []*redis.Options
	var keys []string
	t.Run("inner", func(t *testing.T) {
		testserver.Each(t, func(t *testing.T, s testserver.Server) {
			if s.Embedded != nil {
				return // gone with its test
			}
			mine, foreign := s.Prefix+":mine", s.Prefix+"x:foreign"
			if err := s.Client.MSet(t.Context(), mine, "", foreign, "").Err(); err != nil {
				t.Fatal(err)
			}
			left, keys = append(left, s.Options()), append(keys, mine, foreign)
		})
	})
	for i, o := range left {
		c := redis.NewClient(o)
		mine, foreign := keys[2*i], keys[2*i+1]
		if n := c.Exists(t.Context(), mine).Val(); n != 0 {
			t.Errorf("%s is still there", mine)
		}
		if n := c.Del(t.Context(), foreign).Val(); n != 1 {
			t.Errorf("%s was swept too", foreign)
		}
		_ = c.Close()
	}
}
