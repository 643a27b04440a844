package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		for _, c := range []struct{ words, want string }{
			{"re", "reschedule resume retry"},
			{"steps ", "list show"},
			{"steps l", "list"},
			{"pause ", "imports mail"},
			{"pause m", "mail"},
			{"pause mail ", ""},
			{"steps list --queue ", "imports mail"},
			{"steps list --state re", "ready retrying"},
			{"retry 1 --a", "--all --ask-password --attempts"},
			{"completion ", "bash fish zsh"},
			{"acl v", "viewer"},
			{"--col", "--color"},
			{"--color ", "always auto never"},
			{"enqueue k --priority ", "default high low"},
			{"bogus ", "acl cancel completion delete demo doctor drain enqueue events pause purge queues reschedule resume retry run-now runs server signal stats steps version workers"},
			{"demo ", ""},
		} {
			out := e.ok(t, append([]string{completeCommand}, strings.Split(c.words, " ")...)...)
			if got := strings.Join(strings.Fields(out), " "); got != c.want {
				t.Errorf("%q: %s, want %s", c.words, got, c.want)
			}
		}
	})
	if out := (env{"CYCLONE_REDIS": "redis://127.0.0.1:1"}).ok(t, completeCommand, "pause", ""); out != "" {
		t.Errorf("without a server: %q", out)
	}
}

// The scripts are read by the shells that are here.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range shells {
		script := env{}.ok(t, "completion", shell)
		if !strings.Contains(script, completeCommand) {
			t.Errorf("%s:\n%s", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here: its script is not read", shell)
			continue
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	env{}.fails(t, ExitUsage, "bash, zsh, fish", "completion", "tcsh")
	env{}.fails(t, ExitUsage, "missing", "completion")
}
