package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type postgresServer struct {
	*process
	version string
	admin   *pgxpool.Pool
}

// MissingPostgres says which of PostgreSQL's programs is not installed.
func MissingPostgres() error {
	for _, name := range []string{"initdb", "postgres"} {
		if postgresProgram(name) == "" {
			return fmt.Errorf("no %s on PATH or in /usr/lib/postgresql", name)
		}
	}
	return nil
}

// Postgres starts PostgreSQL with River's tables. Without Persist it syncs nothing;
// with it a commit does not wait for the disk, as with Redis' everysec.
func Postgres(ctx context.Context, o Options) (Server, error) {
	data, err := folder()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged(data)
	if err != nil {
		return nil, discard(data, err)
	}
	cluster := filepath.Join(data, "data")
	create := exec.CommandContext(ctx, postgresProgram("initdb"), "--pgdata", cluster, "--username", "postgres", "--auth", "trust", "--no-sync")
	create.SysProcAttr, create.Dir = account, data
	if out, err := create.CombinedOutput(); err != nil {
		return nil, discard(data, fmt.Errorf("initdb: %w\n%s", err, out))
	}
	args := []string{
		"-D", cluster, "-k", data, "-c", "listen_addresses=", "-c", "synchronous_commit=off", "-c", "max_connections=300",
		"-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB",
	}
	if !o.Persist {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	command := exec.Command(postgresProgram("postgres"), args...)
	command.SysProcAttr, command.Dir = account, data
	s := &postgresServer{}
	if s.process, err = launch(command, data); err != nil {
		return nil, discard(data, err)
	}
	if s.admin, err = pgxpool.New(ctx, s.Address()); err == nil {
		err = errors.Join(s.await(ctx, s.admin.Ping), s.prepare(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *postgresServer) prepare(ctx context.Context) error {
	var version string
	if err := s.admin.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return err
	}
	version, _, _ = strings.Cut(version, " ")
	s.version = "PostgreSQL " + version
	migrator, err := rivermigrate.New[pgx.Tx](riverpgxv5.New(s.admin), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// Address names the server by its socket: it listens on no port at all.
func (s *postgresServer) Address() string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres", s.folder)
}

func (s *postgresServer) Version() string { return s.version }

func (s *postgresServer) Clear(ctx context.Context) error {
	_, err := s.admin.Exec(ctx, "TRUNCATE river_job, river_leader, river_queue")
	return err
}

// Memory is the table of jobs with its indexes.
func (s *postgresServer) Memory(ctx context.Context) (bytes float64, err error) {
	err = s.admin.QueryRow(ctx, "SELECT pg_total_relation_size('river_job')::float8").Scan(&bytes)
	return bytes, err
}

func (s *postgresServer) Commands(context.Context) (int, error) { return 0, ErrUnknown }

func (s *postgresServer) Stop() error {
	if s.admin != nil {
		s.admin.Close()
	}
	return s.end(syscall.SIGQUIT)
}

// postgresProgram finds one of PostgreSQL's programs; Debian keeps them off PATH.
func postgresProgram(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// unprivileged gives the folder to the account that PostgreSQL runs as: it refuses root.
func unprivileged(folder string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() != 0 {
		return attributes, nil
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
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(folder, uid, gid)
}
