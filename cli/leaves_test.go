package cli

import (
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/queue"
)

// leaf is a command without commands of its own.
type leaf struct {
	path    []string
	command *urfave.Command
}

func leaves(commands []*urfave.Command, path []string) (all []leaf) {
	for _, c := range commands {
		own := append(slices.Clone(path), c.Name)
		if len(c.Subcommands) > 0 {
			all = append(all, leaves(c.Subcommands, own)...)
			continue
		}
		all = append(all, leaf{own, c})
	}
	return all
}

func findCommand(commands []*urfave.Command, name string) *urfave.Command {
	for _, c := range commands {
		if slices.Contains(c.Names(), name) {
			return c
		}
		if sub := findCommand(c.Subcommands, name); sub != nil && len(c.Subcommands) > 0 {
			return sub
		}
	}
	return nil
}

// capture is an action that only reads the filter.
func capture(p *program, into *queue.Filter, failed *error) urfave.ActionFunc {
	return func(c *urfave.Context) error {
		*into, *failed = p.filter(c)
		return nil
	}
}
