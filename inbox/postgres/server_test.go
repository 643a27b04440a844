package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// server is one PostgreSQL for all tests of the binary: its sockets are in dir.
type server struct {
	dir   string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

var (
	theServer server
	startOnce sync.Once
)

// connect returns a database of the server, which it starts for the first test.
// Without one the test is skipped; in CI it fails.
func connect(t testing.TB) *sql.DB {
	t.Helper()
	startOnce.Do(theServer.start)
	if theServer.err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("PostgreSQL: %v", theServer.err)
		}
		t.Skipf("PostgreSQL: %v", theServer.err)
	}
	return open(t, theServer.dsn())
}

func open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// dsn names the server by its socket: it listens on no port at all.
func (s *server) dsn() string { return fmt.Sprintf("host=%s user=postgres dbname=postgres", s.dir) }

func (s *server) start() {
	initdb, postgres := program("initdb"), program("postgres")
	if initdb == "" || postgres == "" {
		s.err = errors.New("no initdb and postgres on PATH or in /usr/lib/postgresql")
		return
	}
	if s.dir, s.err = os.MkdirTemp("", "cyclone-pg"); s.err != nil {
		return
	}
	account, err := unprivileged(s.dir)
	if err != nil {
		s.err = err
		return
	}
	data := filepath.Join(s.dir, "data")
	create := exec.Command(initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync")
	create.SysProcAttr, create.Dir = account, s.dir
	if out, err := create.CombinedOutput(); err != nil {
		s.err = fmt.Errorf("initdb: %w\n%s", err, out)
		return
	}
	s.cmd = exec.Command(postgres, "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off")
	s.cmd.SysProcAttr, s.cmd.Dir = account, s.dir
	started := make(chan error)
	go s.supervise(started)
	if s.err = <-started; s.err == nil {
		s.err = s.await()
	}
}

// supervise starts the server and waits for its end, on one thread: the kernel ends
// the server when the thread that started it is gone.
func (s *server) supervise(started chan<- error) {
	runtime.LockOSThread()
	s.ended = make(chan struct{})
	err := s.cmd.Start()
	started <- err
	if err == nil {
		_ = s.cmd.Wait()
	}
	close(s.ended)
}

// await returns when the server answers.
func (s *server) await() error {
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer in 30 s: %w", err)
		case <-tick.C:
		}
	}
}

// stop ends the server at once and removes what it kept.
func (s *server) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.ended
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// program finds one of PostgreSQL's programs; Debian keeps them off PATH.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// unprivileged gives the folder to the account that PostgreSQL runs as: it refuses
// root. The server dies with this process.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attr, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("as root an account is needed to run the server: %w", err)
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(dir, uid, gid)
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(child(text))
	}
	code := m.Run()
	theServer.stop()
	os.Exit(code)
}
