package inbox

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

//go:embed schema.sql
var schema string

// defaultTable is the table's name in schema.sql.
const defaultTable = "cyclone_inbox"

// maxScope is the limit of a scope in bytes.
const maxScope = 128

// Config says where the rows are kept. Its zero value works.
type Config struct {
	// Table is the table's name, cyclone_inbox by default. It may name its schema:
	// `jobs.inbox`.
	Table string
	// Scope keeps deployments apart that share a table, up to 128 bytes; "" by
	// default. Run ids begin again at 1 when Redis was emptied: then give a new
	// scope, or empty the table too.
	Scope string
}

// Inbox is where effects are noted. It is safe for concurrent use.
type Inbox struct {
	db    *sql.DB
	cfg   Config
	table table
}

// table has the statements on one table.
type table struct{ insert, result, update, forget string }

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// New returns an inbox in db, in which the effects themselves take place too. It
// returns one error that names every bad field. The database is not asked.
func New(db *sql.DB, cfg Config) (*Inbox, error) {
	if cfg.Table == "" {
		cfg.Table = defaultTable
	}
	var bad []error
	if db == nil {
		bad = append(bad, errors.New("db is nil"))
	}
	if !tableName.MatchString(cfg.Table) {
		bad = append(bad, fmt.Errorf("table %q: must be letters, digits and '_', with at most one '.' for the schema", cfg.Table))
	}
	if len(cfg.Scope) > maxScope {
		bad = append(bad, fmt.Errorf("scope of %d bytes: must be at most %d", len(cfg.Scope), maxScope))
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("inbox: %w", errors.Join(bad...))
	}
	return &Inbox{db: db, cfg: cfg, table: statements(cfg.Table)}, nil
}

func statements(name string) table {
	const key = ` WHERE scope = $1 AND run_id = $2 AND node = $3 AND effect = $4`
	return table{
		insert: `INSERT INTO ` + name + ` (scope, run_id, node, effect) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		result: `SELECT result FROM ` + name + key,
		update: `UPDATE ` + name + ` SET result = $5` + key,
		forget: `DELETE FROM ` + name + ` WHERE ctid IN (SELECT ctid FROM ` + name +
			` WHERE scope = $1 AND created_at < now() - make_interval(secs => $2) LIMIT $3)`,
	}
}

// Schema returns the statements that make the table, for your migrations. They
// change nothing when it is there.
func (b *Inbox) Schema() string {
	_, short, qualified := strings.Cut(b.cfg.Table, ".")
	if !qualified {
		short = b.cfg.Table
	}
	text := strings.ReplaceAll(schema, "INDEX IF NOT EXISTS "+defaultTable, "INDEX IF NOT EXISTS "+short)
	text = strings.ReplaceAll(text, "ON "+defaultTable, "ON "+b.cfg.Table)
	return strings.ReplaceAll(text, "TABLE IF NOT EXISTS "+defaultTable, "TABLE IF NOT EXISTS "+b.cfg.Table)
}

// Migrate makes the table unless it is there.
func (b *Inbox) Migrate(ctx context.Context) error {
	if _, err := b.db.ExecContext(ctx, b.Schema()); err != nil {
		return fmt.Errorf("inbox: migrate: %w", err)
	}
	return nil
}

// Forget removes up to limit rows that are older than age and returns how many.
// A step that is opened again after its row is gone takes effect again, so let
// age be well above the time for which discarded steps are kept.
func (b *Inbox) Forget(ctx context.Context, age time.Duration, limit int) (int64, error) {
	if age <= 0 || limit < 1 {
		return 0, fmt.Errorf("inbox: forget: age %v and limit %d: must be above zero", age, limit)
	}
	done, err := b.db.ExecContext(ctx, b.table.forget, b.cfg.Scope, age.Seconds(), limit)
	if err != nil {
		return 0, fmt.Errorf("inbox: forget: %w", err)
	}
	return done.RowsAffected()
}
