package cli

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

var update = flag.Bool("update", false, "write the golden files")

// What differs from run to run, and between servers.
var volatile = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}( [A-Z]+)?`), "<time>"},
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*Z"`), `"<time>"`},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(µs|ms|d|h|m|s))+ ago`), "<ago>"},
	{regexp.MustCompile(`in 23h\d+m|in 24h`), "in 23h59m"},
	{regexp.MustCompile(`in (59m\d+s|1h)`), "in 59m"},
	{regexp.MustCompile(`(?m)  +\d+(\.\d+)?(µs|ms|s)$`), "  <took>"},
	{regexp.MustCompile(`after \d+(\.\d+)?(µs|ms|s) ·`), "after <took> ·"},
	{regexp.MustCompile(`"delay_seconds":[\d.]+`), `"delay_seconds":<n>`},
	{regexp.MustCompile(`"oldest_ready_seconds":[\d.]+`), `"oldest_ready_seconds":<n>`},
	{regexp.MustCompile(`on w[a-z2-7]{7}\b`), "on <worker>"},
	{regexp.MustCompile(`"worker":"w[a-z2-7]{7}"`), `"worker":"<worker>"`},
	{regexp.MustCompile(` +(·|(\d+(\.\d+)?(µs|ms|s))+)  paused`), "  <age>  paused"},
	{regexp.MustCompile(`(?m)^\d\d:\d\d `), "<minute> "},
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

func steady(s string) string {
	for _, v := range volatile {
		s = v.pattern.ReplaceAllString(s, v.text)
	}
	return s
}

// golden compares what a command prints with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	got = steady(got)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test ./cli -update writes it anew:\n%s", file, diff)
	}
}

// What every looking command prints, on every server.
func TestGolden(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		for _, c := range []struct{ name, line string }{
			{"queues", "queues"},
			{"queues_json", "queues --json"},
			{"queues_one", "queues imports"},
			{"steps_list", "steps list"},
			{"steps_list_json", "steps list --json"},
			{"steps_list_filtered", "steps list --state discarded --kind send_email --error 550 --since 1h"},
			{"steps_list_color", "steps list --state discarded --color always"},
			{"steps_list_page", "steps list --limit 2"},
			{"steps_list_none", "steps list --kind nothing"},
			{"steps_show_completed", "steps show 1"},
			{"steps_show_retrying", "steps show 2 send_email"},
			{"steps_show_discarded", "steps show 3"},
			{"steps_show_hostile", "steps show 4"},
			{"steps_show_hostile_json", "steps show 4 --json"},
			{"steps_show_output", "steps show 5"},
			{"steps_show_output_json", "steps show 5 --json"},
			{"steps_show_scheduled", "steps show 6"},
			{"runs_show", "runs show 3"},
			{"runs_show_json", "runs show 3 --json"},
			{"stats", "stats --minutes 0"},
			{"stats_json", "stats --minutes 0 --json"},
			{"workers_none", "workers"},
		} {
			r := e.run(t, strings.Fields(c.line)...)
			if r.code != ExitOK {
				t.Errorf("%s: exit %d: %s", c.line, r.code, r.err)
				continue
			}
			text := "$ cyclone " + c.line + "\n" + r.out
			if r.err != "" {
				text += "--- standard error\n" + r.err
			}
			golden(t, c.name, text)
		}
	})
}

// The help is part of what people rely on.
func TestGoldenHelp(t *testing.T) {
	t.Parallel()
	e := env{}
	golden(t, "help", e.ok(t, "--help"))
	if e.ok(t) != e.ok(t, "help") {
		t.Error("cyclone, cyclone help and cyclone --help differ")
	}
	for _, leaf := range leaves(newProgram(Streams{}).app().Commands, nil) {
		if leaf.command.Hidden {
			continue
		}
		text := e.ok(t, append(leaf.path, "--help")...)
		golden(t, "help_"+strings.Join(leaf.path, "_"), text)
		if other := e.ok(t, append([]string{"help"}, leaf.path...)...); other != text {
			t.Errorf("help %v differs from %[1]v --help", leaf.path)
		}
	}
}
