package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
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
			asks        bool
		}{
			{"purge mail", "", ExitRefused, true},
			{"purge mail", "y\n", ExitRefused, true},
			{"purge mail", "yes\n", ExitRefused, true},
			{"delete 3", "4\n", ExitRefused, true},
			{"delete --state discarded", "discarded\n", ExitRefused, true},
			{"cancel --queue mail --json", "mail\n", ExitRefused, false}, // a program does not type
			{"delete 3", "3\n", ExitOK, true},
			{"cancel --queue mail --kind nothing", "", ExitOK, false}, // nothing to confirm
			{"cancel --queue mail", "mail\n", ExitOK, true},
			{"delete 1 5", "delete\n", ExitOK, true},
			{"delete --state discarded", "delete\n", ExitOK, true},
			{"purge mail", "", ExitOK, false}, // nothing waits any more
		} {
			var out, err bytes.Buffer
			p := newProgram(Streams{In: strings.NewReader(c.typed), Out: &out, Err: &err, LookupEnv: e.lookup})
			p.tty = func(any) bool { return true }
			code := codeOf(p.run(t.Context(), strings.Fields(c.line)))
			if asks := strings.Contains(err.String(), "to go on: "); code != c.code || asks != c.asks {
				t.Errorf("%s, typed %q: exit %d, want %d\n%s%s", c.line, c.typed, code, c.code, out.String(), err.String())
			}
		}
		for _, s := range readLines[step](t, e.ok(t, "steps", "list", "--json")) {
			if s.State != cyclone.StepCancelled {
				t.Errorf("left: %+v", s)
			}
		}
	})
}
