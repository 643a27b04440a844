package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/demo"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/workflow"
)

// Each role does all that it is for under its rules, and its rules hold no
// command that neither a script nor the client uses.
func TestACL(t *testing.T) {
	t.Parallel()
	for role, flow := range map[string]func(*testing.T, *aclLab){"worker": workerFlow, "producer": producerFlow, "viewer": viewerFlow} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
				l := newACLLab(t, s, role)
				flow(t, l)
				used := l.used()
				inScripts := map[string]bool{}
				for _, name := range scriptsOf[role] {
					for _, command := range commandsIn(name) {
						inScripts[command] = true
						if !slices.Contains(roles[role], command) {
							t.Errorf("%s.lua calls %s, which the rules of %s lack", name, command, role)
						}
					}
				}
				for _, command := range used {
					if !slices.Contains(roles[role], command) {
						t.Errorf("%s was used and is not in the rules of %s", command, role)
					}
				}
				for _, command := range roles[role] {
					if !slices.Contains(used, command) && !inScripts[command] {
						t.Errorf("the rules of %s hold %s, which nothing uses", role, command)
					}
				}
				l.refuses(t)
			})
		})
	}
}

// scriptsOf are the scripts that a role's processes run.
var scriptsOf = map[string][]string{
	"worker":   allScripts(),
	"producer": {"open", "enqueue", "build", "signal", "state"},
	"viewer":   {"state"},
}

func allScripts() (names []string) {
	for _, s := range luascripts.All() {
		names = append(names, s.Name)
	}
	return names
}

var luaCall = regexp.MustCompile(`redis\.p?call\('([A-Za-z]+)'`)

func commandsIn(script string) (commands []string) {
	for _, s := range luascripts.All() {
		if s.Name == script {
			for _, m := range luaCall.FindAllStringSubmatch(s.Source, -1) {
				commands = append(commands, strings.ToLower(m[1]))
			}
		}
	}
	return commands
}

// aclLab is a server with one user that has a role's rules.
type aclLab struct {
	s *testserver.RealServer
	testserver.Server
	env, admin env
	run        cyclone.RunID // of many steps; 0 when nobody has used the deployment before
	seen       []string      // commands that were executed before the statistics were reset
}

func newACLLab(t *testing.T, s *testserver.RealServer, role string) *aclLab {
	t.Helper()
	base := s.Server
	base.URL = strings.TrimSuffix(base.URL, "/0") + "/1" // SELECT is sent too
	base.Client = base.NewClient(t)
	admin := on(base)
	var run cyclone.RunID
	if role != "worker" { // somebody has used the deployment before
		scene(t, base)
		run = orders(t, base)
		admin.ok(t, "enqueue", "send_email", "--queue", "mail", "--in", "2h")
		base.Client.Del(t.Context(), base.Prefix+":{0}:subs") // nobody listens any more
	}
	line := strings.Fields(admin.ok(t, "acl", role, "--name", "tester"))
	at := slices.Index(line, "ACL")
	if at < 0 {
		t.Fatal(line)
	}
	set := make([]any, 0, len(line))
	for _, word := range append(line[at:], ">secret") {
		set = append(set, word)
	}
	if err := s.Client.Do(t.Context(), set...).Err(); err != nil {
		t.Fatal(err)
	}
	u := must(url.Parse(base.URL))
	u.User = url.UserPassword("tester", "secret")
	l := &aclLab{s: s, run: run, Server: base, admin: admin, env: admin.with("CYCLONE_REDIS", u.String())}
	l.URL = u.String()
	l.Client = l.NewClient(t)
	if err := errors.Join(s.Client.ScriptFlush(t.Context()).Err(), s.Client.ConfigResetStat(t.Context()).Err()); err != nil {
		t.Fatal(err)
	}
	return l
}

var statLine = regexp.MustCompile(`cmdstat_([a-z_|]+):calls=(\d+),`)

// adminCommands are those that the test itself sends as another user; Redis 6.2
// counts subcommands under the name of their command.
var adminCommands = []string{"config|resetstat", "config"}

// uncounted are subcommands that Redis 6.2 counts so.
var uncounted = map[string]string{"client": "client|setname"}

// aside lets somebody else use the server without being counted.
func (l *aclLab) aside(t *testing.T, f func()) {
	t.Helper()
	l.seen = l.used()
	f()
	if err := l.s.Client.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// used returns every command that was executed, in scripts too.
func (l *aclLab) used() []string {
	commands := slices.Clone(l.seen)
	info := must(l.s.Client.Info(context.Background(), "commandstats").Result())
	for _, m := range statLine.FindAllStringSubmatch(info, -1) {
		if name := m[1]; m[2] != "0" && !slices.Contains(adminCommands, name) {
			commands = append(commands, cmp.Or(uncounted[name], name))
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

// refuses shows that the user cannot do harm, in a script either.
func (l *aclLab) refuses(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	for _, command := range []string{
		"flushall", "flushdb", "keys *", "scan 0", "config get *", "debug sleep 0", "acl list", "monitor", "client kill id 1", "script flush",
		"get foreign", "publish foreign x", "subscribe foreign", "shutdown nosave",
		"eval redis.call('set','foreign','x') 0", "eval redis.call('flushall') 0", "eval return{redis.call('get','foreign')} 0",
	} {
		words := make([]any, 0, 4)
		for _, w := range strings.Fields(command) {
			words = append(words, w)
		}
		err := l.Client.Do(ctx, words...).Err()
		if err == nil || !slices.ContainsFunc(refusals, func(says string) bool { return strings.Contains(err.Error(), says) }) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// refusals are how servers say that a user may not do something.
var refusals = []string{"NOPERM", "ACL failure", "can't run this command", "can't access at least one of the keys", "DEBUG command not allowed"}

// workerFlow runs every command of the program, and then the demo, which retries,
// snoozes, discards and repairs.
func workerFlow(t *testing.T, l *aclLab) {
	e := scene(t, l.Server)
	c := client(t, l.Server)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	replicated(t, c)
	unique := cyclone.WithUnique(cyclone.Unique{Key: "k"})
	must(cyclone.EnqueueAction(ctx, c, sendEmail, "x", unique, cyclone.WithDelay(time.Hour)))
	must(cyclone.EnqueueAction(ctx, c, sendEmail, "x", unique))
	e.ok(t, "enqueue", "send_email", "--queue", "mail", "--in", "2h")
	for _, line := range []string{"queues", "steps list", "steps show 8", "runs show 1", "steps show 1", "workers", "stats"} {
		e.ok(t, strings.Fields(line)...)
	}
	l.page(t, "scheduled", false)
	l.page(t, "completed", true)
	for _, line := range []string{
		"enqueue k --queue mail", "pause imports", "resume mail",
		"reschedule 6 --in 1h", "run-now 6", "retry --state discarded", "cancel --kind k --yes", "purge imports --yes",
		"delete --state cancelled --yes", "delete --queue mail --yes", "drain mail", "resume imports", "doctor",
	} {
		e.ok(t, strings.Fields(line)...)
	}
	run := orders(t, l.Server).String()
	for _, line := range []string{
		"runs list", "runs list --state failed", "runs show " + run, "steps show " + run + " approval", "retry " + run + " bad", "cancel " + run + " bad", "retry " + run + " --all",
		"signal " + run + " approval --json 1", "cancel " + run, "runs show " + run, "delete " + run + " --yes", "doctor",
	} {
		e.ok(t, strings.Fields(line)...)
	}
	sub := must(c.Subscribe(ctx, queue.EventFilter{}))
	defer func() { _ = sub.Close() }()
	sum, err := demo.Run(ctx, demo.Config{Client: c, Length: demo.MinLength, Out: io.Discard})
	if err != nil || sum.Total.Completed == 0 || len(sum.Findings) > 0 {
		t.Fatalf("%+v %v", sum, err)
	}
	store := queue.NewStore(c, "wtester")
	for range 3 {
		if err := store.Maintain(ctx, []string{"mail", "imports"}, time.Second); err != nil {
			t.Error(err)
		}
	}
}

// page lists steps one by one; when there is to be a hole, the step that the first
// page has is deleted, and the second one is asked for again.
func (l *aclLab) page(t *testing.T, state string, hole bool) {
	t.Helper()
	first := []string{"steps", "list", "--json", "--limit", "1", "--state", state}
	page := l.env.run(t, first...)
	next := read[moreSteps](t, page.err)
	l.env.ok(t, append(first, "--cursor", next.Cursor)...)
	if hole {
		shown := readLines[step](t, page.out)[0].RunID
		l.aside(t, func() { l.admin.ok(t, "delete", shown.String(), "--yes") })
		l.env.ok(t, append(first, "--cursor", next.Cursor)...)
	}
}

func producerFlow(t *testing.T, l *aclLab) {
	c := client(t, l.Server)
	l.aside(t, func() { l.admin.ok(t, "cancel", l.run.String()) })
	var failed *cyclone.RunError
	if err := cyclone.Attach(c, l.run).Wait(t.Context()); !errors.As(err, &failed) {
		t.Errorf("a cancelled run: %v", err)
	}
	many := must(order().Enqueue(t.Context(), c))
	l.env.ok(t, "signal", many.ID().String(), "approval", "--json", "1")
	must(cyclone.EnqueueMany(t.Context(), c, sendEmail.With("a"), sendEmail.With("b", cyclone.WithDelay(time.Hour)), sendEmail.With("c", cyclone.WithUnique(cyclone.Unique{}))))
	replicated(t, c)
	if err := cyclone.Attach(c, runCompleted).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cyclone.Attach(c, 12345).Wait(t.Context()); !errors.Is(err, cyclone.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	run := must(cyclone.EnqueueStep(t.Context(), c, measure, "x"))
	if _, err := run.Wait(ctx); err == nil {
		t.Error("nobody works, and it ended")
	}
	l.env.ok(t, "enqueue", "k", "--queue", "mail")
	l.aside(t, func() { must(l.NewClient(t).Del(t.Context(), l.Prefix+":{0}:ids").Result()) })
	l.env.ok(t, "enqueue", "k", "--queue", "mail")
	l.env.fails(t, ExitError, "acl", "purge", "mail", "--yes")
}

// replicated waits for a replica that is not there.
func replicated(t *testing.T, c *queue.Client) {
	t.Helper()
	if _, err := cyclone.EnqueueAction(t.Context(), c, sendEmail, "x", cyclone.WaitReplicas(1)); !errors.Is(err, cyclone.ErrNotReplicated) {
		t.Errorf("WaitReplicas: %v", err)
	}
}

func viewerFlow(t *testing.T, l *aclLab) {
	for _, line := range []string{
		"queues", "steps list", "steps show 1", "steps show 5", "steps show 8", "runs show 2", "workers", "stats", "doctor",
	} {
		l.env.ok(t, strings.Fields(line)...)
	}
	l.page(t, "scheduled", false)
	l.page(t, "completed", true)
	list := readLines[runSummary](t, l.env.ok(t, "runs", "list", "--json"))
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	run := list[0].RunID.String()
	l.env.ok(t, "runs", "list", "--state", "completed")
	l.env.ok(t, "runs", "show", run)
	l.env.ok(t, "steps", "show", run, "approval")
	l.env.fails(t, ExitError, "acl", "signal", run, "approval")
	l.env.fails(t, ExitError, "acl", "cancel", run, "approval")
	for _, line := range []string{"enqueue k", "pause mail", "retry 3 send_email", "cancel 2", "delete 3 --yes", "purge mail --yes", "run-now 2"} {
		l.env.fails(t, ExitError, "acl", strings.Fields(line)...)
	}
}

func TestACLCommand(t *testing.T) {
	t.Parallel()
	e := env{}
	golden(t, "acl", e.ok(t, "acl"))
	golden(t, "acl_json", e.ok(t, "acl", "viewer", "--json"))
	golden(t, "acl_file", e.ok(t, "acl", "--file", "--prefix", "shop"))
	e.fails(t, ExitUsage, "no role", "acl", "admin")
	e.fails(t, ExitUsage, "needs a role", "acl", "--name", "x")
	e.fails(t, ExitUsage, "cannot be a user's name", "acl", "viewer", "--name", "x +@all")
	e.fails(t, ExitUsage, "not a prefix", "acl", "--prefix", "x:* +@all")
	if names := roleNames(); !slices.Equal(names, slices.Sorted(maps.Keys(roleDuties))) {
		t.Errorf("%v", names)
	}
}

// order is a run of many steps in which one fails and does no harm, and one waits.
func order() *workflow.Builder {
	b := workflow.New("order")
	q := cyclone.WithQueue("slow")
	size := workflow.Run(b, "measure", measure, workflow.Value("x"), q)
	bad := workflow.Do(b, "bad", importRow, workflow.Value(1), q)
	approval := workflow.Wait(b, "approval", time.Hour, workflow.After(size), q)
	workflow.Do(b, "tell", note, workflow.Value("x"), q, workflow.After(approval, bad), workflow.OnDepFailure(workflow.RunAnyway))
	return b
}

// orders starts such a run and works until it waits.
func orders(t *testing.T, s testserver.Server) cyclone.RunID {
	t.Helper()
	c := client(t, s)
	id := must(order().Enqueue(t.Context(), c)).ID()
	waits, failed := false, false
	work(t, c, func(e cyclone.StepEvent) bool {
		waits = waits || e.RunID == id && e.Type == cyclone.EventSuspended
		failed = failed || e.RunID == id && e.State == cyclone.StepExhausted
		return waits && failed
	}, measure, note, importRow, sendEmail)
	return id
}
