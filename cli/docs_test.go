package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page says all that there is: each command, flag, variable and exit code.
func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	app := newProgram(Streams{}).app()
	for _, c := range leaves(app.Commands, nil) {
		if c.command.Hidden || c.path[0] == "demo" {
			continue
		}
		if name := strings.Join(c.path, " "); !regexp.MustCompile("`(cyclone )?" + name + "\\b").MatchString(page) {
			t.Errorf("the command %s is missing", name)
		}
		for _, f := range c.command.Flags {
			if !strings.Contains(page, "--"+f.Names()[0]) {
				t.Errorf("the flag --%s of %v is missing", f.Names()[0], c.path)
			}
		}
	}
	for _, f := range app.Flags {
		if !strings.Contains(page, "--"+f.Names()[0]) {
			t.Errorf("the flag --%s is missing", f.Names()[0])
		}
	}
	for _, s := range settings {
		if !strings.Contains(page, "`"+s.env+"`") {
			t.Errorf("%s is missing", s.env)
		}
	}
	for code, name := range exitNames {
		if !strings.Contains(page, fmt.Sprintf("| %d | `%s` |", code, name)) {
			t.Errorf("the exit code %d is missing", code)
		}
	}
	for _, s := range states {
		if !strings.Contains(page, "`"+string(s)+"`") {
			t.Errorf("the state %s is missing", s)
		}
	}
}

// What the pages tell people to type is a command line, with flags that there are.
func TestPagesShowRealCommands(t *testing.T) {
	t.Parallel()
	app := newProgram(Streams{}).app()
	shown := regexp.MustCompile("(?m)(?:^|`)cyclone ((?:[^`#|\n]|\n[^\n`])*?)(?:`| +#|\\||>|$)")
	for _, file := range []string{"../docs/cli.md", "../docs/operations.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := shown.FindAllStringSubmatch(string(b), -1)
		if len(found) < 5 {
			t.Fatalf("%s shows %d commands", file, len(found))
		}
		for _, m := range found {
			words := strings.Fields(strings.NewReplacer("'", "", "…", "", "[", "", "]", "").Replace(m[1]))
			if _, err := arrange(app, words); err != nil {
				t.Errorf("%s: cyclone %s: %v", file, m[1], err)
			}
		}
	}
}
