package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/inbox"
)

type receipt struct {
	Number int    `json:"number"`
	To     string `json:"to"`
}

// lab is an inbox and a table of effects that one test has to itself.
type lab struct {
	*testing.T
	db      *sql.DB
	box     *inbox.Inbox
	effects string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{T: t, db: connect(t)}
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_"))
	l.effects = name + "_effects"
	box, err := inbox.New(l.db, inbox.Config{Table: name})
	if err != nil {
		t.Fatal(err)
	}
	l.box = box
	for range 2 { // again it changes nothing
		if err := box.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.db.ExecContext(t.Context(), `CREATE TABLE `+l.effects+` (who text)`); err != nil {
		t.Fatal(err)
	}
	return l
}

// attempt is a handler's context of run id.
func (l *lab) attempt(id cyclone.RunID) cyclone.Context {
	return cyclonetest.NewContext(l, cyclonetest.RunID(id), cyclonetest.Node("charge"))
}

// credit takes effect once.
func (l *lab) credit(ctx context.Context, box *inbox.Inbox, effect, who string) (receipt, error) {
	return inbox.Once(ctx, box, effect, func(ctx context.Context, tx *sql.Tx) (receipt, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO `+l.effects+` (who) VALUES ($1)`, who)
		return receipt{Number: len(who), To: who}, err
	})
}

func (l *lab) requireEffects(want ...string) {
	l.Helper()
	var got string
	if err := l.db.QueryRow(`SELECT coalesce(string_agg(who, ' ' ORDER BY who), '') FROM ` + l.effects).Scan(&got); err != nil {
		l.Fatal(err)
	}
	if got != strings.Join(want, " ") {
		l.Errorf("effects %q, want %q", got, want)
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, who := range []string{"ada", "bob"} { // the second execution would do something else
		got, err := l.credit(l.attempt(1), l.box, "credit", who)
		if err != nil || got != (receipt{3, "ada"}) {
			t.Errorf("%s: got %v, %v", who, got, err)
		}
	}
	l.requireEffects("ada")
}

func TestEffectsAreToldApart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other, err := inbox.New(l.db, inbox.Config{Table: "testeffectsaretoldapart", Scope: "staging"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ctx    cyclone.Context
		box    *inbox.Inbox
		effect string
		who    string
	}{
		{l.attempt(1), l.box, "credit", "a"},
		{l.attempt(2), l.box, "credit", "b"},
		{l.attempt(1), l.box, "debit", "c"},
		{l.attempt(1), other, "credit", "d"},
		{cyclonetest.NewContext(t, cyclonetest.RunID(1), cyclonetest.Node("refund")), l.box, "credit", "e"},
	} {
		if _, err := l.credit(c.ctx, c.box, c.effect, c.who); err != nil {
			t.Error(err)
		}
	}
	l.requireEffects("a", "b", "c", "d", "e")
}

func TestErrorRollsBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	failure := errors.New("declined")
	_, err := inbox.Once(l.attempt(1), l.box, "credit", func(ctx context.Context, tx *sql.Tx) (receipt, error) {
		if _, err := tx.ExecContext(ctx, `INSERT INTO `+l.effects+` (who) VALUES ('ada')`); err != nil {
			t.Error(err)
		}
		return receipt{}, failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	l.requireEffects()
	if _, err := l.credit(l.attempt(1), l.box, "credit", "bob"); err != nil {
		t.Error(err)
	}
	l.requireEffects("bob")
}

func TestPanicRollsBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = inbox.Once(l.attempt(1), l.box, "credit", func(ctx context.Context, tx *sql.Tx) (int, error) {
			_, _ = tx.ExecContext(ctx, `INSERT INTO `+l.effects+` (who) VALUES ('ada')`)
			panic("handler")
		})
	}()
	l.requireEffects()
}

// A worker that has lost its lease and its successor at the same time.
func TestExecutionsThatMeet(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 8
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			got, err := l.credit(l.attempt(1), l.box, "credit", fmt.Sprint("worker", i))
			if err != nil || got.Number != len("worker0") {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	group.Wait()
	var rows int
	if err := l.db.QueryRow(`SELECT count(*) FROM ` + l.effects).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d effects (%v), want 1", rows, err)
	}
}

func TestContextEndsTheTransaction(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	parent, cancel := context.WithCancel(t.Context())
	ctx := cyclonetest.NewContext(t, cyclonetest.RunID(1), cyclonetest.Parent(parent))
	_, err := inbox.Once(ctx, l.box, "credit", func(ctx context.Context, tx *sql.Tx) (int, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO `+l.effects+` (who) VALUES ('ada')`)
		cancel()
		return 1, err
	})
	if err == nil {
		t.Error("it was committed after its context had ended")
	}
	l.requireEffects()
}

func TestResultOfAnotherType(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if _, err := l.credit(l.attempt(1), l.box, "credit", "ada"); err != nil {
		t.Fatal(err)
	}
	_, err := inbox.Once(l.attempt(1), l.box, "credit", func(context.Context, *sql.Tx) ([]int, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "charge credit") {
		t.Errorf("got %v", err)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for id := range 3 {
		if _, err := l.credit(l.attempt(cyclone.RunID(id+1)), l.box, "credit", fmt.Sprint(id)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.db.Exec(`UPDATE testforget SET created_at = now() - interval '2 days' WHERE run_id < 3`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 1, 0} {
		if n, err := l.box.Forget(t.Context(), 24*3600e9, 1); err != nil || n != want {
			t.Errorf("forgot %d (%v), want %d", n, err, want)
		}
	}
	if _, err := l.credit(l.attempt(3), l.box, "credit", "again"); err != nil {
		t.Fatal(err)
	}
	l.requireEffects("0", "1", "2")
}
