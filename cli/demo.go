package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/demo"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
)

// demoPrefix keeps a demo on a real server away from everything else.
const demoPrefix = "cyclone-demo"

// planVariable carries the plan to the demo's other process.
const planVariable = "CYCLONE_DEMO_PLAN"

func (p *program) demoCommand() *urfave.Command {
	return &urfave.Command{
		Name: "demo", Category: groupTry,
		Usage: "watch real jobs fail, recover, wait and be repaired",
		Description: "Runs a web shop's background work for a while: webhooks to a partner that is down for a bit, a rate-limited API, bad\n" +
			"input, a mail server that says later, orders that wait for an approval, a worker process that is killed, and an\n" +
			"operator who repairs. It needs nothing: Redis is embedded, and its data is gone at the end. With --redis, --cluster or\n" +
			"--sentinel, or with --real for what the environment names, it uses a real server, under the prefix " + demoPrefix + " unless --prefix says otherwise.",
		Flags: []urfave.Flag{
			&urfave.DurationFlag{Name: "for", Value: 20 * time.Second, Usage: "how `LONG` it lasts, at least " + demo.MinLength.String()},
			&urfave.BoolFlag{Name: "real", Usage: "use the server that the environment names (CYCLONE_REDIS and the like)", DisableDefaultText: true},
			&urfave.BoolFlag{Name: "plain", Usage: "print lines in a terminal too, as when piped", DisableDefaultText: true},
		},
		Action: p.demo,
		Subcommands: []*urfave.Command{{
			Name: "worker", Hidden: true, Usage: "the demo's other process", Action: p.demoWorker,
		}},
	}
}

func (p *program) demo(c *urfave.Context) error {
	if _, err := args(c, 0, 0); err != nil {
		return err
	}
	length := c.Duration("for")
	if length < demo.MinLength || length > time.Hour {
		return usagef("", "--for is %v: must be %v to 1h", length, demo.MinLength)
	}
	cfg := demo.Config{Length: length, Out: p.Out, Paint: p.paint, Live: p.tty(p.Out) && !c.Bool("plain") && !p.json}
	if p.json {
		cfg.Event = func(e cyclone.StepEvent) { p.object(eventOf(e)) }
	}
	real := c.Bool("real") || p.flagSet("redis") || p.flagSet("cluster") || p.flagSet("sentinel")
	var err error
	if real {
		err = p.demoReal(&cfg)
	} else {
		err = p.demoEmbedded(&cfg)
	}
	if err != nil {
		return err
	}
	if !p.json && !cfg.Live {
		p.printf("Cyclone demo for %v on %s", length, cfg.Where)
	}
	sum, err := demo.Run(c.Context, cfg)
	if err != nil {
		return err
	}
	if p.json {
		p.object(sum)
	} else {
		if !cfg.Live {
			p.printf("")
		}
		sum.Tell(p.Out, p.paint, p.width())
		p.demoNext(sum, real)
	}
	switch {
	case interrupted(c.Context):
		return silent(ExitInterrupted)
	case len(sum.Findings) > 0:
		return silent(ExitFindings)
	}
	return nil
}

// demoEmbedded gives the demo a server of its own. Only the two processes of the
// demo know its password.
func (p *program) demoEmbedded(cfg *demo.Config) error {
	password := rand.Text()
	server, err := embedded.Start(embedded.Password(password))
	if err != nil {
		return err
	}
	p.cleanup = append(p.cleanup, func() error { server.Close(); return nil })
	rdb := server.Client()
	p.cleanup = append([]func() error{rdb.Close}, p.cleanup...)
	cfg.Where = "an embedded Redis, whose data is gone at the end"
	cfg.Worker = demoProcess("CYCLONE_REDIS="+server.URL(), "CYCLONE_PREFIX="+demoPrefix)
	cfg.Client, err = p.client(rdb, queue.Config{Prefix: demoPrefix})
	return err
}

// demoReal uses the server of flags and environment. What the demo leaves is
// trimmed sooner than elsewhere.
func (p *program) demoReal(cfg *demo.Config) (err error) {
	rdb, err := p.redis()
	if err != nil {
		return err
	}
	prefix := p.setting("prefix")
	if prefix == "" {
		prefix = demoPrefix
	}
	cfg.Where = fmt.Sprintf("%s, under the prefix %s", p.target, prefix)
	env := make([]string, 0, len(settings)+2)
	for _, s := range settings {
		if value := p.setting(s.flag); value != "" && s.flag != "ask-password" {
			env = append(env, s.env+"="+value)
		}
	}
	cfg.Worker = demoProcess(append(env, "CYCLONE_PREFIX="+prefix)...)
	cfg.Client, err = p.client(rdb, queue.Config{Prefix: prefix, DiscardedRetention: 24 * time.Hour})
	return err
}

// demoProcess returns the command of the demo's other process: this program with
// an environment that names the deployment.
func demoProcess(env ...string) func(demo.Plan) *exec.Cmd {
	return func(plan demo.Plan) *exec.Cmd {
		program, err := os.Executable()
		if err != nil {
			program = os.Args[0]
		}
		cmd := exec.Command(program, "demo", "worker")
		cmd.Env = append(os.Environ(), env...)
		cmd.Env = append(cmd.Env, planVariable+"="+plan.Encode())
		cmd.Stderr = io.Discard // it would write into the view
		return cmd
	}
}

// demoWorker is what that process runs.
func (p *program) demoWorker(c *urfave.Context) error {
	text, _ := p.env(planVariable)
	plan, err := demo.DecodePlan(text)
	if err != nil {
		return usagef("", "`cyclone demo` starts this by itself")
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	return demo.Work(c.Context, client, plan, p.In, p.Out)
}

// demoNext shows what to try next.
func (p *program) demoNext(sum *demo.Summary, real bool) {
	if !real {
		p.tellCommands([][2]string{
			{"server", "a server to play with, in another terminal"},
			{"demo --redis redis://127.0.0.1:6379", "the same demo, whose data stays"},
			{"steps list --state discarded --prefix " + demoPrefix, "what failed for good there, and why"},
			{"--help", "all commands"},
		})
		return
	}
	commands := [][2]string{
		{"queues", "where everything stands"},
		{"runs list", "the large orders, runs of several steps"},
		{"steps list --state discarded", "what failed for good, and why"},
	}
	if len(sum.Discarded) > 0 {
		first := sum.Discarded[0]
		commands = append(commands,
			[2]string{fmt.Sprintf("steps show %v", first.RunID), "one step: input, history, stack"},
			[2]string{fmt.Sprintf("retry %v %s", first.RunID, first.Node), "open it again"})
	}
	p.tellCommands(append(commands, [2]string{"doctor", "is the server set up well, and all in its place?"}), p.exports()...)
}

// exports are the variables with which the next commands find the demo's data.
func (p *program) exports() []string {
	prefix := p.setting("prefix")
	if prefix == "" {
		prefix = demoPrefix
	}
	list := []string{"CYCLONE_PREFIX=" + prefix}
	for _, s := range settings {
		if s.flag != "prefix" && !s.isBool && p.flagSet(s.flag) {
			list = append(list, s.env+"="+p.setting(s.flag))
		}
	}
	return list
}

// tellCommands prints commands, each with a remark, and before them the variables
// that they need.
func (p *program) tellCommands(commands [][2]string, exports ...string) {
	p.printf("\n%s", p.paint.Paint(terminal.Bold, "Try next"))
	if len(exports) > 0 {
		p.printf("  export %s", terminal.Clean(strings.Join(exports, " ")))
	}
	self, width, longest := selfName(), 0, 0
	for _, c := range commands {
		width, longest = max(width, terminal.Width(c[0])), max(longest, terminal.Width(c[1]))
	}
	fits := p.width() == 0 || len("    # ")+len(self)+1+width+longest <= p.width()
	for _, c := range commands {
		remark := p.paint.Paint(terminal.Dim, "# "+c[1])
		if fits {
			p.printf("  %s %s  %s", self, terminal.Pad(c[0], width, false), remark)
		} else {
			p.printf("  %s\n  %s %s", remark, self, c[0])
		}
	}
}

// selfName is how the user has called this program.
func selfName() string {
	if program, err := os.Executable(); err == nil && strings.Contains(program, "go-build") {
		return "go run ./cli/cyclone"
	}
	return "cyclone"
}

// interrupted reports whether an interrupt ended ctx.
func interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) == errInterrupted
}
