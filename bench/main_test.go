package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tinySize keeps every case alive in the tests; its figures mean nothing.
var tinySize = size{
	enqueue: 2000, singles: 500, drain: 2000, both: 2000, pickups: 3,
	scheduled: 100 * time.Millisecond, instant: 500, memory: 1000, idle: 200 * time.Millisecond, steps: 510,
}

// testLab runs on a server of its own: the cases flush the database.
func testLab(t *testing.T) *lab {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no redis-server on PATH, and CI=true")
		}
		t.Skip("no redis-server on PATH")
	}
	options, stop, err := connectTo(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	l, err := newLab(t.Context(), options, tinySize, 20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestEveryCaseRuns(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	for _, c := range allCases {
		t.Run(c.name, func(t *testing.T) {
			var progress bytes.Buffer
			results, err := (&runner{lab: l, rounds: 2, progress: &progress}).run(t.Context(), []benchCase{c})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if (c.floor == nil) != (r.Floor == nil && r.Ratio == nil) {
					t.Errorf("%q: floor %v, ratio %v", r.Title, r.Floor, r.Ratio)
				}
				if (r.Target == "") != (r.Met == nil) {
					t.Errorf("%q: target %q, met %v", r.Title, r.Target, r.Met)
				}
			}
			if !strings.Contains(progress.String(), "round 2 of 2") {
				t.Errorf("progress does not tell of the rounds: %q", &progress)
			}
		})
	}
	if keys, err := l.admin.DBSize(t.Context()).Result(); err != nil || keys != 0 {
		t.Errorf("%d keys are left behind (%v)", keys, err)
	}
}

func TestADatabaseWithDataIsRefused(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	if err := l.admin.Set(t.Context(), "precious", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	code := program(t.Context(), []string{"--redis", "redis://" + l.options.Addr, "--quick"}, &out, &progress)
	if code != exitFailure || !strings.Contains(progress.String(), "holds 1 keys") {
		t.Errorf("exit code %d, said %q", code, &progress)
	}
	if l.admin.Get(t.Context(), "precious").Val() != "1" {
		t.Error("the data is gone")
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, says string }{
		{"--only nothing", `no case is named "nothing"`},
		{"--rounds -1", "--rounds must not be negative"},
		{"--concurrency 0", "--concurrency must be at least 1"},
		{"drain", "no arguments are taken"},
		{"--unheard-of", "not defined"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			var out, progress bytes.Buffer
			if code := program(t.Context(), strings.Fields(test.args), &out, &progress); code != exitUsage {
				t.Errorf("exit code %d, not %d", code, exitUsage)
			}
			if !strings.Contains(progress.String(), test.says) || out.Len() > 0 {
				t.Errorf("said %q and printed %q", &progress, &out)
			}
		})
	}
}
