package cli

import (
	"slices"
	"strings"
	"testing"
)

// Flags may stand anywhere behind their command, and what is behind -- is no flag.
func TestArrange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"retry 12345 --all", "retry --all -- 12345"},
		{"retry --all 12345", "retry --all -- 12345"},
		{"retry 12345 send_email", "retry -- 12345 send_email"},
		{"retry 1 a --reason x --json", "--json retry --reason=x -- 1 a"},
		{"retry 1 a --reason=--all", "retry --reason=--all -- 1 a"},
		{"retry 1 a --reason --all", "retry --reason=--all -- 1 a"},
		{"retry 1 -- --all", "retry -- 1 --all"},
		{"retry -- 1 --all", "retry -- 1 --all"},
		{"-- retry 1", "retry -- 1"},
		{"--json queues", "--json queues"},
		{"queues --json", "--json queues"},
		{"queues -json", "--json queues"},
		{"queues --json=false", "--json=false queues"},
		{"steps list --queue a --limit 5", "steps list --queue=a --limit=5"},
		{"steps --json list --state ready", "--json steps list --state=ready"},
		{"--redis redis://h steps list", "--redis=redis://h steps list"},
		{"steps list --redis redis://h", "--redis=redis://h steps list"},
		{"enqueue mail --json {}", "enqueue --json={} -- mail"},
		{"--json enqueue mail --json {}", "--json enqueue --json={} -- mail"},
		{"enqueue mail --json -", "enqueue --json=- -- mail"},
		{"enqueue mail --meta a=1,2 --meta b=2", "enqueue --meta=a=1,2 --meta=b=2 -- mail"},
		{"purge emails -y", "purge --yes -- emails"},
		{"pause help", "pause -- help"},
		{"retry 1 --help", "retry --help"},
		{"steps list -h", "steps list --help"},
		{"steps --help", "steps --help"},
		{"--help", "--help"},
		{"", ""},
	} {
		a, err := arrange(newProgram(Streams{}).app(), strings.Fields(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := strings.Join(a.line("cyclone")[1:], " "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestArrangeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, text, next string }{
		{"retri 1", `no command "retri"`, "`cyclone retry`"},
		{"steps lst", `no command "steps lst"`, "`cyclone steps list`"},
		{"steps bogus", `no command "steps bogus"`, "list, show"},
		{"bogus", `no command "bogus"`, "--help"},
		{"retry 1 --al", "retry has no flag --al", "--all"},
		{"retry 1 --bogus-flag", "retry has no flag --bogus-flag", "retry --help"},
		{"--queue a steps list", "no flag --queue", "behind"},
		{"retry 1 a --reason", "needs a value", "--reason VALUE"},
		{"retry 1 ---all", "not a flag", ""},
		{"retry 1 --=x", "not a flag", ""},
		{"steps -- bogus", "no command", ""},
	} {
		_, err := arrange(newProgram(Streams{}).app(), strings.Fields(c.in))
		f, ok := err.(*failure)
		if !ok || f.exit != ExitUsage || !strings.Contains(f.text, c.text) || !strings.Contains(f.next, c.next) {
			t.Errorf("%s: %+v, want %q and %q", c.in, f, c.text, c.next)
		}
	}
}

// A command that needs another word shows which there are, and is not done.
func TestIncompleteCommand(t *testing.T) {
	t.Parallel()
	r := env{}.run(t, "steps")
	if r.code != ExitUsage || r.out != (env{}).ok(t, "steps", "--help") {
		t.Errorf("%+v", r)
	}
}

// Wherever the flags of every command stand, the parser gets the same.
func TestArrangeEveryCommand(t *testing.T) {
	t.Parallel()
	app := newProgram(Streams{}).app()
	for _, c := range leaves(app.Commands, nil) {
		var flags []string
		for i, f := range append(slices.Clone(c.command.Flags), app.Flags...) {
			name := "--" + f.Names()[0]
			if _, shadowed := findFlag(c.command.Flags, f.Names()[0]); shadowed && i >= len(c.command.Flags) {
				continue // enqueue's own --json
			}
			if takesValue(f) {
				flags = append(flags, name+"=v")
			} else {
				flags = append(flags, name)
			}
		}
		arguments := []string{"a", "b"}
		before := append(append(slices.Clone(c.path), flags...), arguments...)
		after := append(append(slices.Clone(c.path), arguments...), flags...)
		x, err := arrange(app, before)
		y, err2 := arrange(app, after)
		if err != nil || err2 != nil {
			t.Errorf("%v: %v, %v", c.path, err, err2)
			continue
		}
		if !slices.Equal(x.line(""), y.line("")) || !slices.Equal(y.args, arguments) || len(y.own)+len(y.global) != len(flags) {
			t.Errorf("%v:\n%v\n%v", c.path, x.line(""), y.line(""))
		}
	}
}
