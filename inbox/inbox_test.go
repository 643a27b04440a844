package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/inbox"
)

func TestNewNamesEveryBadField(t *testing.T) {
	t.Parallel()
	_, err := inbox.New(nil, inbox.Config{Table: "a; DROP TABLE b", Scope: strings.Repeat("x", 129)})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{"db is nil", `table "a; DROP TABLE b"`, "scope of 129 bytes: must be at most 128"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %s:\n%v", part, err)
		}
	}
}

func TestSchemaNamesTheTable(t *testing.T) {
	t.Parallel()
	for table, want := range map[string][2]string{
		"":           {"TABLE IF NOT EXISTS cyclone_inbox (", "INDEX IF NOT EXISTS cyclone_inbox_created_at ON cyclone_inbox ("},
		"effects":    {"TABLE IF NOT EXISTS effects (", "INDEX IF NOT EXISTS effects_created_at ON effects ("},
		"jobs.inbox": {"TABLE IF NOT EXISTS jobs.inbox (", "INDEX IF NOT EXISTS inbox_created_at ON jobs.inbox ("},
	} {
		box, err := inbox.New(&sql.DB{}, inbox.Config{Table: table})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(box.Schema(), part) {
				t.Errorf("table %q: no %q in\n%s", table, part, box.Schema())
			}
		}
	}
}

func TestRefusedBeforeTheDatabaseIsAsked(t *testing.T) {
	t.Parallel()
	box, err := inbox.New(&sql.DB{}, inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, *sql.Tx) (int, error) { t.Error("called"); return 0, nil }
	if _, err := inbox.Once(t.Context(), box, "charge", never); !errors.Is(err, inbox.ErrNoAttempt) {
		t.Errorf("outside a handler: %v", err)
	}
	for _, effect := range []string{"", strings.Repeat("x", 129)} {
		if _, err := inbox.Once(cyclonetest.NewContext(t), box, effect, never); err == nil {
			t.Errorf("effect of %d bytes: accepted", len(effect))
		}
	}
	if _, err := box.Forget(t.Context(), 0, 1); err == nil {
		t.Error("forget everything: accepted")
	}
	if _, err := box.Forget(t.Context(), time.Hour, 0); err == nil {
		t.Error("forget without a limit: accepted")
	}
}
