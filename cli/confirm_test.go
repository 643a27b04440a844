package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

// In a terminal the queue's name, or what stands for it, has to be typed.
func TestConfirmByTyping(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		e := scene(t, s)
		for _, c := range []struct {
			line, typed string
			code        int
		}{
			{"purge mail", "", ExitRefused},
			{"purge mail", "y\n", ExitRefused},
			{"purge mail", "yes\n", ExitRefused},
			{"delete 3", "4\n", ExitRefused},
			{"delete --state discarded", "discarded\n", ExitRefused},
			{"cancel --queue mail --json", "mail\n", ExitRefused}, // a program does not type
			{"delete 3", "3\n", ExitOK},
			{"cancel --queue mail --kind nothing", "", ExitOK}, // nothing to confirm
			{"cancel --queue mail", "mail\n", ExitOK},
			{"delete 1 5", "delete\n", ExitOK},
			{"delete --state discarded", "delete\n", ExitOK},
			{"purge mail", "", ExitOK},
		} {
			var out, err bytes.Buffer
			p := newProgram(Streams{In: strings.NewReader(c.typed), Out: &out, Err: &err, LookupEnv: e.lookup})
			p.tty = func(any) bool { return true }
			if code := codeOf(p.run(t.Context(), strings.Fields(c.line))); code != c.code {
				t.Errorf("%s, typed %q: exit %d, want %d\n%s%s", c.line, c.typed, code, c.code, out.String(), err.String())
			}
			if asks := strings.Contains(err.String(), "to go on: "); asks != (c.typed != "" && !strings.Contains(c.line, "--json")) && c.code != ExitRefused {
				t.Errorf("%s: %s", c.line, err.String())
			}
		}
		if out := e.ok(t, "steps", "list", "--json"); strings.Count(out, "\n") != 2 { // 6, 7 and 8 are cancelled; 2 too
			t.Logf("left:\n%s", out)
		}
	})
}
