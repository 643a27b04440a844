package testserver

import (
	"cmp"
	"testing"
)

// recorder notes how a test would have ended first, and goes on.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper()               {}
func (r *recorder) Skipf(string, ...any)  { r.end = cmp.Or(r.end, "skip") }
func (r *recorder) Fatalf(string, ...any) { r.end = cmp.Or(r.end, "fail") }

func TestMissingServer(t *testing.T) {
	for _, c := range []struct{ name, ci, valkey, want string }{
		{Redis, "", "", "skip"},
		{Redis, "true", "", "fail"},
		{Valkey, "true", "", "skip"},
		{Valkey, "", "1", "fail"},
	} {
		t.Run(c.name+c.ci+c.valkey, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			t.Setenv("CI", c.ci)
			t.Setenv("CYCLONE_REQUIRE_VALKEY", c.valkey)
			r := &recorder{TB: t}
			find(r, c.name)
			if r.end != c.want {
				t.Errorf("%s, want %s", r.end, c.want)
			}
		})
	}
}
