package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// Where the connection goes: a flag wins over the environment.
func TestOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  env
		args string
		want string // address, master, cluster, user, password, database, TLS
	}{
		{env{}, "", "127.0.0.1:6379  false   0 false"},
		{env{"CYCLONE_REDIS": "redis://h:1/3"}, "", "h:1  false   3 false"},
		{env{"CYCLONE_REDIS": "redis://h:1/3"}, "--redis redis://other:2", "other:2  false   0 false"},
		{env{"CYCLONE_REDIS": "rediss://u:p%40ss@h"}, "", "h:6379  false u p@ss 0 true"},
		{env{"CYCLONE_REDIS": "redis://u:p@h", "CYCLONE_USER": "v", "CYCLONE_PASSWORD": "w"}, "", "h:6379  false v w 0 false"},
		{env{"CYCLONE_PASSWORD": "w"}, "--redis redis://u@h --user x", "h:6379  false x w 0 false"},
		{env{"CYCLONE_PASSWORD_FILE": file}, "--redis redis://u@h", "h:6379  false u from file 0 false"},
		{env{}, "--redis unix:///run/redis.sock?db=2", "/run/redis.sock  false   2 false"},
		{env{}, "--sentinel a:1,b:2 --master-name jobs --db 4", "a:1,b:2 jobs false   4 false"},
		{env{"CYCLONE_SENTINEL": "a:1", "CYCLONE_MASTER_NAME": "jobs"}, "", "a:1 jobs false   0 false"},
		{env{"CYCLONE_SENTINEL": "a:1", "CYCLONE_MASTER_NAME": "jobs"}, "--redis redis://h", "h:6379  false   0 false"},
		{env{"CYCLONE_CLUSTER": "a:1 b:2"}, "", "a:1,b:2  true   0 false"},
		{env{"CYCLONE_REDIS": "redis://h"}, "--cluster a:1", "a:1  true   0 false"},
		{env{"CYCLONE_TLS": "1"}, "--redis redis://h", "h:6379  false   0 true"},
		{env{"CYCLONE_TLS": "0"}, "--redis redis://h", "h:6379  false   0 false"},
		{env{}, "--redis redis://h --tls-server-name x", "h:6379  false   0 true"},
	} {
		var o *redis.UniversalOptions
		err := c.env.peek(t, &o, strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%v %s: %v", c.env, c.args, err)
			continue
		}
		got := fmt.Sprintf("%s %s %v %s %s %d %v", strings.Join(o.Addrs, ","), o.MasterName, o.IsClusterMode, o.Username, o.Password, o.DB, o.TLSConfig != nil)
		if got != c.want {
			t.Errorf("%v %s:\n got %s\nwant %s", c.env, c.args, got, c.want)
		}
	}
}

// peek reads the connection options that a command line comes to.
func (e env) peek(t *testing.T, into **redis.UniversalOptions, args ...string) error {
	t.Helper()
	p := newProgram(Streams{LookupEnv: e.lookup})
	app := p.app()
	app.Action = func(*urfave.Context) (err error) {
		*into, err = p.options()
		return err
	}
	a, err := arrange(app, args)
	if err != nil {
		return err
	}
	return app.RunContext(t.Context(), a.line("cyclone"))
}

func TestOptionsRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env        env
		args, says string
	}{
		{env{}, "--redis redis://:hunter2@h", "must not have a password"},
		{env{}, "--redis http://h", "http"},
		{env{"CYCLONE_REDIS": "redis://:hunter2%zz@h"}, "", "cannot be read"},
		{env{"CYCLONE_REDIS": "redis://:hunter2@h/x"}, "", "database"},
		{env{}, "--redis redis://h --cluster a:1", "exclude"},
		{env{"CYCLONE_REDIS": "redis://h", "CYCLONE_CLUSTER": "a:1"}, "", "exclude"},
		{env{}, "--sentinel a:1", "name of the primary"},
		{env{}, "--sentinel a:1 --master-name m --db x", "--db"},
		{env{}, "--password-file /does/not/exist", "no such file"},
		{env{}, "--ask-password", "needs a terminal"},
		{env{}, "--tls-ca /does/not/exist", "no such file"},
		{env{}, "--tls-cert x", "need each other"},
		{env{"CYCLONE_TLS": "maybe"}, "", "CYCLONE_TLS"},
		{env{}, "--prefix a:b", "Prefix"},
		{env{}, "--color sometimes", "--color"},
	} {
		r := c.env.fails(t, ExitUsage, c.says, append([]string{"queues"}, strings.Fields(c.args)...)...)
		if strings.Contains(r.err, "hunter2") {
			t.Errorf("%v %s: the password is shown: %s", c.env, c.args, r.err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	const free = "127.0.0.1:1" // below those that are handed out, so that no other test's server comes to listen there
	for _, args := range []string{"--redis redis://" + free, "--cluster " + free, "--sentinel " + free + " --master-name jobs", "--redis unix:///does/not/exist.sock"} {
		r := env{"CYCLONE_PASSWORD": "hunter2"}.fails(t, ExitUnavailable, "Is Redis there", append([]string{"queues"}, strings.Fields(args)...)...)
		if strings.Contains(r.err, "hunter2") {
			t.Errorf("the password is shown: %s", r.err)
		}
	}
	if r := (env{}).run(t, "queues", "--json", "--redis", "redis://"+free); read[problem](t, r.err).Code != "unavailable" || r.out != "" {
		t.Errorf("%+v", r)
	}
	notRedis := listen(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
	env{}.fails(t, ExitUnavailable, "is not Redis", "queues", "--redis", "redis://"+notRedis)
}

// listen answers whatever it is sent with a text.
func listen(t *testing.T, text string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprint(conn, text)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	s := testserver.Real(t)
	for _, words := range []string{"CONFIG SET requirepass hunter2"} {
		do(t, s, words)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hunter2\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := env{"CYCLONE_REDIS": s.URL}
	open.with("CYCLONE_PASSWORD", "hunter2").ok(t, "queues")
	open.with("CYCLONE_PASSWORD_FILE", file).ok(t, "queues")
	open.ok(t, "queues", "--password-file", file)
	env{"CYCLONE_REDIS": strings.Replace(s.URL, "redis://", "redis://:hunter2@", 1)}.ok(t, "queues")
	open.fails(t, ExitError, "wants a password", "queues")
	open.with("CYCLONE_PASSWORD", "hunter3").fails(t, ExitError, "Check user and password", "queues")
}

func do(t *testing.T, s *testserver.RealServer, line string) {
	t.Helper()
	var words []any
	for _, w := range strings.Fields(line) {
		words = append(words, w)
	}
	if err := s.Client.Do(t.Context(), words...).Err(); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "cyclone")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	testserver.Real(t, "--unixsocket", dir+"/s")
	e := env{"CYCLONE_REDIS": "unix://" + dir + "/s"}
	e.ok(t, "enqueue", "k")
	if out := e.ok(t, "queues"); !strings.Contains(out, "default") {
		t.Error(out)
	}
}

// A cluster of one node is enough to need a cluster's client.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := testserver.StartCluster(t, testserver.Redis, 1).Nodes[0]
	e := env{"CYCLONE_CLUSTER": s.Addr()}
	e.ok(t, "enqueue", "k", "--queue", "mail")
	for _, line := range []string{"queues", "steps list", "stats", "workers", "doctor", "pause mail", "resume mail", "cancel --queue mail --yes"} {
		e.ok(t, strings.Fields(line)...)
	}
	set := strings.Fields(e.ok(t, "acl", "worker", "--name", "tester"))
	words := strings.Join(set[len(strings.Fields("# worker: enqueues, works, inspects and operates")):], " ")
	do(t, s, words+" >secret")
	limited := e.with("CYCLONE_USER", "tester", "CYCLONE_PASSWORD", "secret")
	limited.ok(t, "enqueue", "k", "--queue", "mail")
	limited.ok(t, "doctor")
	limited.ok(t, "purge", "mail", "--yes")
	single := env{"CYCLONE_REDIS": s.URL}
	single.ok(t, "queues") // one node with all slots does not mind
}

func await(t *testing.T, ready func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			t.Fatal("not ready in time")
		case <-tick.C:
		}
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := testserver.Real(t)
	u := must(url.Parse(s.URL))
	addr := sentinel(t, s, fmt.Sprintf("sentinel monitor jobs %s %s 1\n", u.Hostname(), u.Port()))
	e := env{"CYCLONE_SENTINEL": addr, "CYCLONE_MASTER_NAME": "jobs", "CYCLONE_DB": "2"}
	e.ok(t, "enqueue", "k")
	if out := e.ok(t, "queues"); !strings.Contains(out, "default") {
		t.Error(out)
	}
	if out := (env{"CYCLONE_REDIS": strings.TrimSuffix(s.URL, "0") + "2"}).ok(t, "queues"); !strings.Contains(out, "default") {
		t.Error("it was enqueued elsewhere:", out)
	}
	e.with("CYCLONE_MASTER_NAME", "nobody").fails(t, ExitUnavailable, "nobody", "queues")
}

// sentinel runs a Redis Sentinel with a configuration and returns its address.
func sentinel(t *testing.T, s *testserver.RealServer, config string) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\n%s", port, config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, s.Name+"-server", file, "--sentinel")
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	c := redis.NewSentinelClient(&redis.Options{Addr: addr})
	defer func() { _ = c.Close() }()
	await(t, func() bool {
		master, err := c.GetMasterAddrByName(t.Context(), "jobs").Result()
		return !errors.Is(err, redis.Nil) && len(master) == 2
	})
	return addr
}
