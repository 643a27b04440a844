package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// completeCommand is what the shells' scripts call, with the words of the line.
const completeCommand = "__complete"

// completing returns the words of a line that a shell wants to be completed.
func completing(args []string) (words []string, ok bool) {
	if len(args) == 0 || args[0] != completeCommand {
		return nil, false
	}
	return args[1:], true
}

// complete prints what the last word could become, one a line. Errors are silent:
// a shell has no place for them.
func (p *program) complete(ctx context.Context, app *urfave.App, words []string) error {
	for _, candidate := range p.candidates(ctx, app, words) {
		fmt.Fprintln(p.Out, terminal.Clean(candidate))
	}
	return nil
}

func (p *program) candidates(ctx context.Context, app *urfave.App, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	a, flag := p.reach(app, before)
	var all []string
	switch {
	case flag != nil:
		all = p.values(ctx, a, flag.Names()[0])
	case strings.HasPrefix(last, "-"):
		for _, f := range append(slices.Clone(a.flags()), app.Flags...) {
			if v, ok := f.(urfave.VisibleFlag); !ok || v.IsVisible() {
				all = append(all, "--"+f.Names()[0])
			}
		}
	case a.leaf == nil || len(a.leaf.Subcommands) > 0 && len(a.args) == 0:
		commands := app.Commands
		if a.leaf != nil {
			commands = a.leaf.Subcommands
		}
		for _, c := range commands {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
	default:
		all = p.arguments(ctx, a)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, last) })
	slices.Sort(all)
	return slices.Compact(all)
}

// reach reads the words before the last one as far as they make sense. flag is
// the one that waits for its value.
func (p *program) reach(app *urfave.App, words []string) (a *arranged, flag urfave.Flag) {
	a, err := arrange(app, words)
	if err == nil {
		return a, nil
	}
	if len(words) == 0 {
		return &arranged{}, nil
	}
	name := strings.TrimLeft(words[len(words)-1], "-")
	if a, err = arrange(app, words[:len(words)-1]); err != nil {
		return &arranged{}, nil
	}
	if f, ok := findFlag(append(slices.Clone(a.flags()), app.Flags...), name); ok && takesValue(f) {
		return a, f
	}
	return a, nil
}

// values are what a flag can be set to.
func (p *program) values(ctx context.Context, a *arranged, flag string) []string {
	switch flag {
	case "state":
		if len(a.path) > 0 && a.path[0] == "runs" {
			return runStateNames
		}
		return indexedNames
	case "color":
		return []string{"auto", "always", "never"}
	case "priority":
		return []string{cyclone.High.String(), cyclone.Default.String(), cyclone.Low.String()}
	case "type":
		return strings.Split(joinTypes(), ", ")
	case "queue":
		return p.queueNames(ctx)
	}
	return nil
}

// arguments are what the next argument of a command can be.
func (p *program) arguments(ctx context.Context, a *arranged) []string {
	switch {
	case len(a.args) > 0:
		return nil
	case slices.Contains(queueCommands, a.leaf.Name):
		return p.queueNames(ctx)
	case a.leaf.Name == "completion":
		return shells
	case a.leaf.Name == "acl":
		return roleNames()
	}
	return nil
}

// queueCommands take a queue's name.
var queueCommands = []string{"pause", "resume", "drain", "purge", "queues"}

// completeWithin bounds how long a shell waits for names from Redis.
const completeWithin = 500 * time.Millisecond

func (p *program) queueNames(ctx context.Context) []string {
	client, err := p.connect()
	if err != nil {
		return nil
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	queues, err := client.Queues(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.Name
	}
	return names
}
