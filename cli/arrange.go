package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// arranged is a command line in the order that the parser needs: a flag behind
// an argument would be taken for an argument, and `cyclone retry 12345 --all`
// would retry a node named --all.
type arranged struct {
	global []string // flags of the program, as --name=value
	path   []string // the command, such as steps, list
	own    []string // flags of the command
	args   []string // arguments, whatever they look like
	leaf   *urfave.Command
}

// line returns the whole, behind the program's name.
func (a *arranged) line(name string) []string {
	line := append([]string{name}, a.global...)
	line = append(line, a.path...)
	line = append(line, a.own...)
	if len(a.args) > 0 && !slices.Contains(a.own, "--help") { // else the arguments would be taken for topics
		line = append(append(line, "--"), a.args...)
	}
	return line
}

// arrange sorts args, which do not include the program's name, into flags and
// arguments. A flag may stand anywhere behind the command that it belongs to;
// the program's own may stand anywhere. Behind -- everything is an argument.
func arrange(app *urfave.App, args []string) (*arranged, error) {
	a := &arranged{}
	commands := app.Commands
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest := args[i+1:]
			for len(rest) > 0 && len(commands) > 0 {
				if err := a.descend(&commands, rest[0]); err != nil {
					return nil, err
				}
				rest = rest[1:]
			}
			a.args = append(a.args, rest...)
			return a, nil
		case len(arg) > 1 && arg[0] == '-':
			value := ""
			if i+1 < len(args) {
				value = args[i+1]
			}
			taken, err := a.flag(app, arg, value, i+1 < len(args))
			if err != nil {
				return nil, err
			}
			if taken {
				i++
			}
		case len(commands) > 0:
			if err := a.descend(&commands, arg); err != nil {
				return nil, err
			}
		default:
			a.args = append(a.args, arg)
		}
	}
	return a, nil
}

// descend takes the next word of the command's name.
func (a *arranged) descend(commands *[]*urfave.Command, word string) error {
	for _, c := range *commands {
		if slices.Contains(c.Names(), word) {
			a.leaf, a.path, *commands = c, append(a.path, c.Name), c.Subcommands
			return nil
		}
	}
	whole := strings.Join(append(slices.Clone(a.path), word), " ")
	return usagef(suggestCommand(*commands, a.path, word), "there is no command %q", whole)
}

// flag sorts in one flag. taken tells that the next argument is its value.
func (a *arranged) flag(app *urfave.App, arg, next string, hasNext bool) (taken bool, err error) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	if name == "" || name[0] == '-' || name[0] == '=' {
		return false, usagef("", "%q is not a flag", arg)
	}
	home := &a.own
	f, ok := findFlag(a.flags(), name)
	if !ok {
		home = &a.global
		if f, ok = findFlag(app.Flags, name); !ok {
			return false, a.unknownFlag(app, name)
		}
	}
	name = "--" + f.Names()[0]
	switch {
	case !takesValue(f) && !hasValue:
		*home = append(*home, name)
	case hasValue:
		*home = append(*home, name+"="+value)
	case hasNext:
		*home = append(*home, name+"="+next)
		return true, nil
	default:
		return false, usagef("Write it as "+name+" VALUE.", "flag %s needs a value", name)
	}
	return false, nil
}

func (a *arranged) flags() []urfave.Flag {
	if a.leaf == nil {
		return nil
	}
	return a.leaf.Flags
}

func (a *arranged) unknownFlag(app *urfave.App, name string) error {
	if a.leaf == nil {
		return usagef("Flags of a command stand behind it; `cyclone --help` lists the others.", "cyclone has no flag --%s", name)
	}
	command := strings.Join(a.path, " ")
	next := fmt.Sprintf("`cyclone %s --help` lists its flags.", command)
	if near := nearest(name, flagNames(append(slices.Clone(a.flags()), app.Flags...))); near != "" {
		next = fmt.Sprintf("Did you mean --%s? ", near) + next
	}
	return usagef(next, "%s has no flag --%s", command, name)
}

func findFlag(flags []urfave.Flag, name string) (urfave.Flag, bool) {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f, true
		}
	}
	return nil, false
}

func takesValue(f urfave.Flag) bool {
	d, ok := f.(urfave.DocGenerationFlag)
	return ok && d.TakesValue()
}

func flagNames(flags []urfave.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	return names
}
