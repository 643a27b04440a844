package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) aclCommand() *urfave.Command {
	return &urfave.Command{
		Name: "acl", Category: groupSetUp, ArgsUsage: "[" + strings.Join(roleNames(), "|") + "]",
		Usage: "print the smallest Redis ACL rules that a process needs",
		Description: "worker: processes that enqueue, work, inspect and operate, this command line included. producer: processes that only\n" +
			"enqueue, send signals and wait for results. viewer: processes that only look. The rules are for --prefix; they hold no password:\n" +
			"add one with ACL SETUSER NAME '>password'. With --cluster they hold what a cluster's client needs as well.",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "name", Usage: "`NAME` of the user", DefaultText: "PREFIX-ROLE"},
			&urfave.BoolFlag{Name: "file", Usage: "print lines for an ACL file instead of commands for redis-cli", DisableDefaultText: true},
		},
		Action: p.acl,
	}
}

// aclView is a role's rules for programs.
type aclView struct {
	Role     string   `json:"role"`
	User     string   `json:"user"`
	Rules    []string `json:"rules"`
	Commands []string `json:"commands"`
}

func (p *program) acl(c *urfave.Context) error {
	given, err := args(c, 0, 1)
	if err != nil {
		return err
	}
	names := roleNames()
	if len(given) == 1 {
		if !slices.Contains(names, given[0]) {
			return usagef("There is: "+strings.Join(names, ", ")+".", "no role %q", given[0])
		}
		names = given
	}
	if c.IsSet("name") && len(names) > 1 {
		return usagef("For example: cyclone acl worker --name jobs.", "acl: --name needs a role")
	}
	prefix := p.setting("prefix")
	if prefix == "" {
		prefix = queue.DefaultPrefix
	}
	if err := checkPrefix(prefix); err != nil {
		return err
	}
	for i, role := range names {
		user := prefix + "-" + role
		if c.IsSet("name") {
			user = c.String("name")
		}
		if user == "" || strings.ContainsAny(user, " \t\r\n\"'") {
			return usagef("", "--name %q cannot be a user's name", user)
		}
		commands := aclCommands(role, p.setting("cluster") != "")
		v := aclView{Role: role, User: user, Rules: aclRules(prefix, commands), Commands: commands}
		if p.json {
			p.object(v)
			continue
		}
		p.tellACL(v, i, c.Bool("file"))
	}
	return nil
}

func (p *program) tellACL(v aclView, i int, file bool) {
	if file {
		p.printf("user %s on %s", v.User, strings.Join(v.Rules, " "))
		return
	}
	if i > 0 {
		p.printf("")
	}
	p.printf("%s", p.paint.Paint(terminal.Dim, "# "+v.Role+": "+roleDuties[v.Role]))
	p.printf("ACL SETUSER %s reset on %s", v.User, strings.Join(v.Rules, " "))
}

// checkPrefix refuses what cannot be a prefix: it would end up in a rule.
func checkPrefix(prefix string) error {
	if checkQueue(prefix) != nil { // the same grammar
		return usagef("", "--prefix %s is not a prefix", fmt.Sprintf("%.80q", prefix))
	}
	return nil
}
