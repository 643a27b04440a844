package wire_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

var grammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func TestValidNameIsItsGrammar(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9._-]{0,66}`),
		rapid.StringOfN(rapid.RuneFrom([]rune("aZ09._-{}:*?[]\\ \n\x00é")), 0, 66, -1),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := name.Draw(t, "name")
		want := grammar.MatchString(s)
		if got := wire.ValidName(s); got != want {
			t.Fatalf("ValidName(%q) = %v, want %v", s, got, want)
		}
		if (wire.CheckName("queue", s) == nil) != want {
			t.Fatalf("CheckName(%q) disagrees with ValidName", s)
		}
	})
}

func TestCheckNameCutsWhatItPrints(t *testing.T) {
	t.Parallel()
	err := wire.CheckName("queue", strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 300 || !strings.HasPrefix(err.Error(), `queue "xxx`) {
		t.Errorf("got an error of %d bytes: %.80v", len(err.Error()), err)
	}
}
