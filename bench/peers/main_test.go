package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/cases"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/report"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// TestMain lets the test binary be the client process of a contender, as the program
// is its own.
func TestMain(m *testing.M) {
	if code, child := child(); child {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

func needRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no redis-server on PATH, and CI=true")
		}
		t.Skip("no redis-server on PATH")
	}
}

// measured runs cases at tiny sizes and returns the report.
func measured(t *testing.T, chosen []cases.Case, contenders string) report.Report {
	t.Helper()
	needRedis(t)
	who, err := contender.Pick(contenders)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	s := settings{json: true, rounds: 1, svg: t.TempDir()}
	if err := measureAt(t.Context(), s, stage.Tiny, chosen, who, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var r report.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if charts, err := os.ReadDir(s.svg); err != nil || len(charts) == 0 {
		t.Errorf("%d charts were written (%v)", len(charts), err)
	}
	return r
}

// holdsEverything fails when a contender failed, or has no value for a case that it can do.
func holdsEverything(t *testing.T, r report.Report, chosen []cases.Case) {
	t.Helper()
	if len(r.Results) != len(chosen) || len(r.LeftOut) > 0 {
		t.Fatalf("%d results for %d cases, left out: %v", len(r.Results), len(chosen), r.LeftOut)
	}
	for _, result := range r.Results {
		for i, side := range result.Sides {
			value := result.Figures[0].Cells[i].Value
			if side.Failed != "" || side.Cannot != (value == nil) || side.Contender == contender.Cyclone && side.Cannot {
				t.Errorf("%s: %s: cannot %v, value %v, failed %q", result.Case, side.Contender, side.Cannot, value, side.Failed)
			}
		}
	}
}

const onRedis = "cyclone,floor,asynq"

func TestEveryCaseRuns(t *testing.T) {
	t.Parallel()
	const parts = 3 // most of the time is waiting
	for part := range parts {
		chosen := cases.All[part*len(cases.All)/parts : (part+1)*len(cases.All)/parts]
		t.Run(chosen[0].Name, func(t *testing.T) {
			t.Parallel()
			holdsEverything(t, measured(t, chosen, onRedis), chosen)
		})
	}
}

// The best of the settings is taken, and those that do not work are passed over.
func TestSettingsAreTried(t *testing.T) {
	t.Parallel()
	needRedis(t)
	who, err := contender.Pick(contender.Asynq)
	if err != nil {
		t.Fatal(err)
	}
	who[0].Tries = map[contender.Purpose][]contender.Settings{contender.ForPickup: {
		{Name: "every 200 ms", Values: map[string]int{wire.Poll: 200}},
		{Name: "impossible", Values: map[string]int{wire.Pool: 1 << 62}},
		{Name: "every ms", Values: map[string]int{wire.Poll: 1}},
	}}
	chosen, err := cases.Pick("pickup", false, false)
	if err != nil {
		t.Fatal(err)
	}
	scale := stage.Tiny
	scale.Tries = 0
	var out, progress bytes.Buffer
	if err := measureAt(t.Context(), settings{rounds: 1}, scale, chosen, who, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "asynq, pick-up: every ms\n") {
		t.Errorf("printed:\n%s\n%s", &out, &progress)
	}
}

func TestEveryGrowthCaseRuns(t *testing.T) {
	t.Parallel()
	holdsEverything(t, measured(t, cases.Growth, "cyclone"), cases.Growth)
}

func TestAContenderThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	needRedis(t)
	who, err := contender.Pick("cyclone,asynq")
	if err != nil {
		t.Fatal(err)
	}
	who[1].Client = func() *exec.Cmd { return exec.Command("false") }
	chosen, err := cases.Pick("singles-1,bulk", false, false)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := measureAt(t.Context(), settings{rounds: 1}, stage.Tiny, chosen, who, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "asynq failed: open: ") || !strings.Contains(progress.String(), "cyclone ") {
		t.Errorf("printed:\n%s\n%s", &out, &progress)
	}
}

// A run that takes too long has fewer rounds, and says so.
func TestALateRunHasFewerRounds(t *testing.T) {
	t.Parallel()
	needRedis(t)
	who, err := contender.Pick(contender.Floor)
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := cases.Pick("singles-1", false, false)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	s := settings{rounds: 5, limit: time.Nanosecond}
	if err := measureAt(t.Context(), s, stage.Tiny, chosen, who, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if said := progress.String(); !strings.Contains(said, "round 3 of 5") || strings.Contains(said, "round 4 of 5") ||
		!strings.Contains(said, "2 rounds are left out") {
		t.Errorf("said:\n%s", said)
	}
}

// A server that cannot be started again fails its contender, and nobody else.
func TestAServerThatStaysAwayIsNamed(t *testing.T) {
	t.Parallel()
	needRedis(t)
	who, err := contender.Pick("cyclone,asynq")
	if err != nil {
		t.Fatal(err)
	}
	who[1].Client = func() *exec.Cmd { return exec.Command("false") }
	starts, start := 0, who[1].Start
	who[1].Start = func(ctx context.Context, o server.Options) (server.Server, error) {
		if starts++; starts > 1 {
			return nil, errors.New("the disk is full")
		}
		return start(ctx, o)
	}
	chosen, err := cases.Pick("singles-1,singles-10", false, false)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := measureAt(t.Context(), settings{rounds: 1}, stage.Tiny, chosen, who, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "asynq failed: clear: there is no server any more: the disk is full") {
		t.Errorf("printed:\n%s\n%s", &out, &progress)
	}
}

func TestWhatIsNotInstalledIsNamed(t *testing.T) {
	t.Parallel()
	needRedis(t)
	who, err := contender.Pick(contender.Floor + "," + contender.Asynq)
	if err != nil {
		t.Fatal(err)
	}
	who[1].Missing = func() error { return fmt.Errorf("no such thing here") }
	chosen, err := cases.Pick("singles-1", false, false)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := measureAt(t.Context(), settings{rounds: 1}, stage.Tiny, chosen, who, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "left out: asynq: no such thing here") {
		t.Errorf("printed:\n%s", &out)
	}
	who[0].Missing = who[1].Missing
	if err := measureAt(t.Context(), settings{rounds: 1}, stage.Tiny, chosen, who, &out, &progress); err == nil {
		t.Error("a run without anybody has no error")
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, says string }{
		{"-only nothing", `no case is named "nothing"`},
		{"-growth -only drain", `no case is named "drain"`},
		{"-contenders nobody", `no contender is named "nobody"`},
		{"-rounds -1", "-rounds must not be negative"},
		{"-limit -1s", "-limit must not be negative"},
		{"drain", "no arguments are taken"},
		{"-unheard-of", "not defined"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			var out, progress bytes.Buffer
			if code := program(context.Background(), strings.Fields(test.args), &out, &progress); code != exitUsage {
				t.Errorf("exit code %d, not %d", code, exitUsage)
			}
			if !strings.Contains(progress.String(), test.says) || out.Len() > 0 {
				t.Errorf("said %q and printed %q", &progress, &out)
			}
		})
	}
}
