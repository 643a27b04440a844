package cli

import (
	"io"

	urfave "github.com/urfave/cli/v2"
)

// The groups of commands in the help.
const (
	groupTry     = "Try"
	groupLook    = "Look"
	groupOperate = "Operate"
	groupSetUp   = "Set up"
)

// app is the tree of commands.
func (p *program) app() *urfave.App {
	app := &urfave.App{
		Name:      "cyclone",
		HelpName:  "cyclone",
		Usage:     "background jobs on Redis",
		UsageText: "cyclone COMMAND [FLAGS] [ARGUMENTS]",
		Flags:     append(append(outputFlags(), connectionFlags()...), helpFlag()),
		Commands: []*urfave.Command{
			p.demoCommand(), p.serverCommand(),
			p.queuesCommand(), p.stepsCommand(), p.runsCommand(), p.workersCommand(), p.statsCommand(), p.eventsCommand(), p.doctorCommand(),
			p.enqueueCommand(), p.signalCommand(), p.retryCommand(), p.cancelCommand(), p.deleteCommand(), p.rescheduleCommand(), p.runNowCommand(),
			p.pauseCommand(), p.resumeCommand(), p.drainCommand(), p.purgeCommand(),
			p.aclCommand(), p.completionCommand(), p.versionCommand(),
		},
		Reader: p.In, Writer: p.Out, ErrWriter: io.Discard,
		DisableSliceFlagSeparator: true, // a comma may be part of a --meta value
		HideVersion:               true, HideHelp: true,
		Before:         p.before,
		ExitErrHandler: func(*urfave.Context, error) {}, // the code is Run's
		OnUsageError:   badFlag,
	}
	for _, c := range app.Commands {
		complete(c, "")
	}
	app.CustomAppHelpTemplate = programHelp(app)
	return app
}

// complete fills what all commands share.
func complete(c *urfave.Command, parent string) {
	c.HideHelp = true // the parser's own makes `pause help` show help, and is shared by all runs
	flags := len(c.VisibleFlags())
	c.Flags = append(c.Flags, helpFlag())
	c.OnUsageError = badFlag
	c.CustomHelpTemplate = commandHelp
	name := parent + c.Name
	c.UsageText = "cyclone " + name
	if len(c.VisibleCommands()) > 0 {
		c.UsageText += " COMMAND"
	}
	if c.ArgsUsage != "" {
		c.UsageText += " " + c.ArgsUsage
	}
	if flags > 0 {
		c.UsageText += " [FLAGS]"
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = incomplete
	}
	for _, sub := range c.Subcommands {
		complete(sub, name+" ")
	}
}

// incomplete is what a command does that needs another word.
func incomplete(c *urfave.Context) error {
	if err := urfave.ShowSubcommandHelp(c); err != nil {
		return err
	}
	return silent(ExitUsage)
}

// helpFlag is a flag that the parser knows by its name.
func helpFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}

// before reads the program's own flags.
func (p *program) before(c *urfave.Context) error {
	p.global = c
	p.json = c.Bool("json")
	colour := c.String("color")
	switch colour {
	case "auto", "always", "never":
		p.setColour(colour)
		return nil
	}
	return usagef("Use auto, always or never.", "--color is %q", colour)
}

// badFlag is what the parser says of a value that it cannot read.
func badFlag(c *urfave.Context, err error, _ bool) error {
	return usagef("`"+c.Command.HelpName+" --help` explains the flags.", "%v", err)
}

// args checks the number of arguments and returns them.
func args(c *urfave.Context, least, most int) ([]string, error) {
	given := c.Args().Slice()
	usage := c.Command.UsageText
	switch {
	case len(given) < least:
		return nil, usagef("Write it as "+usage, "%s: %s", c.Command.Name, missing(least-len(given)))
	case len(given) > most:
		return nil, usagef("Write it as "+usage, "%s: %q is too much", c.Command.Name, given[most])
	}
	return given, nil
}

func missing(n int) string {
	if n == 1 {
		return "an argument is missing"
	}
	return "arguments are missing"
}
