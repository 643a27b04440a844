package contender

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var usage = wire.Command{Op: wire.OpUsage}

func launched(t *testing.T, script string) *Client {
	t.Helper()
	c, err := Launch(exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAClientThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	c := launched(t, "exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Call(ctx, usage)
	if err == nil || !strings.Contains(err.Error(), "usage: it hangs") {
		t.Errorf("error %v", err)
	}
	select {
	case <-c.exited:
	case <-time.After(10 * time.Second):
		t.Error("the process still runs")
	}
}

func TestAClientThatEndsSaysWhy(t *testing.T) {
	t.Parallel()
	c := launched(t, "read line; echo no such driver >&2; exit 1")
	if _, err := c.Call(t.Context(), usage); err == nil || !strings.Contains(err.Error(), "the process ended; it said last: no such driver") {
		t.Errorf("error %v", err)
	}
}

func TestRepliesFitTheirCommands(t *testing.T) {
	t.Parallel()
	c := launched(t, `read line; echo '{"usage":{"version":"1.2"}}'; read line; echo '{"error":"not today"}'; read line`)
	reply, err := c.Call(t.Context(), usage)
	if err != nil || reply.Usage == nil || reply.Usage.Version != "1.2" {
		t.Errorf("reply %+v, error %v", reply, err)
	}
	if _, err := c.Call(t.Context(), usage); err == nil || err.Error() != "usage: not today" {
		t.Errorf("error %v", err)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	picked, err := Pick("asynq, cyclone")
	if err != nil || len(picked) != 2 || picked[0].Name != Cyclone || picked[1].Name != Asynq {
		t.Errorf("picked %v, error %v", picked, err)
	}
	if _, err := Pick("cyclone,nobody"); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("error %v", err)
	}
}
