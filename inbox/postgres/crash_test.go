package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/inbox"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// childVariable makes the test binary run as a worker process.
const childVariable = "CYCLONE_INBOX_CHILD"

// childConfig is what a worker process is told.
type childConfig struct {
	Redis, Prefix, Postgres, Table string
	Dies                           bool // with SIGKILL, after the commit
}

// chargeStep charges once and says how often its function ran.
func chargeStep(box *inbox.Inbox, table string, after func()) *cyclone.Step[string, int] {
	return cyclone.NewStep("charge", func(ctx cyclone.Context, who string) (int, error) {
		defer after()
		return inbox.Once(ctx, box, "charge", func(ctx context.Context, tx *sql.Tx) (int, error) {
			_, err := tx.ExecContext(ctx, `INSERT INTO `+table+` (who) VALUES ($1)`, who)
			return os.Getpid(), err
		})
	}, cyclone.WithRetention(time.Minute))
}

// child is a worker process; it runs until it is killed.
func child(text string) int {
	if err := work(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func work(text string) error {
	var cfg childConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	db, err := sql.Open("pgx", cfg.Postgres)
	if err != nil {
		return err
	}
	box, err := inbox.New(db, inbox.Config{Table: cfg.Table})
	if err != nil {
		return err
	}
	client, err := queue.Open(cfg.Redis, queue.Config{Prefix: cfg.Prefix})
	if err != nil {
		return err
	}
	w, err := worker.New(client, worker.Config{Lease: 2 * time.Second, Heartbeat: 500 * time.Millisecond})
	if err != nil {
		return err
	}
	w.Register(chargeStep(box, cfg.Table+"_effects", func() {
		if cfg.Dies {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}))
	return w.Run(context.Background())
}

// A worker process is killed between the commit and the completion: the step runs
// again elsewhere, and what it did stands once.
func TestKilledBetweenCommitAndCompletion(t *testing.T) {
	l := newLab(t)
	redis := testserver.Real(t)
	client, err := queue.Open(redis.URL, queue.Config{Prefix: redis.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	run, err := cyclone.EnqueueStep(t.Context(), client, chargeStep(nil, "", nil), "ada")
	if err != nil {
		t.Fatal(err)
	}
	cfg := childConfig{Redis: redis.URL, Prefix: redis.Prefix, Postgres: theServer.dsn(), Table: strings.ToLower(t.Name()), Dies: true}
	first := spawn(t, cfg)
	if err := first.Wait(); err == nil || first.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the first worker ended by itself: %v", err)
	}
	l.requireEffects("ada")
	cfg.Dies = false
	second := spawn(t, cfg)
	defer func() {
		_ = second.Process.Kill()
		_ = second.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	by, err := run.Wait(ctx)
	if err != nil || by != first.Process.Pid {
		t.Errorf("result %d (%v), want that of the first worker, %d", by, err, first.Process.Pid)
	}
	l.requireEffects("ada")
}

func spawn(t *testing.T, cfg childConfig) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}
