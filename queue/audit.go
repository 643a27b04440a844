package queue

import (
	"context"
	"fmt"
)

// maxFindings bounds a report: whoever has a thousand findings has one problem.
const maxFindings = 1000

// AuditOptions are the options of [Client.Audit].
type AuditOptions struct {
	// Progress, if set, is told now and then how many entries were looked at.
	Progress func(checked int)
}

// AuditReport is what an audit found.
type AuditReport struct {
	// Checked is the number of entries looked at, in all keys.
	Checked int
	// Steps is the number of steps.
	Steps int
	// Findings are what does not fit together, none when all is well, at most 1,000.
	Findings []Finding
	// NotLooked says what was not looked for, and why; "" when all was. It takes the
	// command SCAN, which an account need not have, to find keys of runs and tasks of
	// which nothing else knows.
	NotLooked string
}

// Finding is one thing that an audit found wrong.
type Finding struct {
	// Rule names what is broken: "one index", "body", "readable", "queue", "ghost",
	// "score", "unique key", "side table", "result", "session", "queue list", "id counter",
	// "run", "node", "sweep" or "orphan".
	Rule string
	// Key and Member are where.
	Key, Member string
	// Text says what is wrong.
	Text string
}

// Audit checks that what is stored fits together: every step is in exactly one
// index, bodies and indexes agree, ghosts are where they should be, unique keys have
// their holders, runs of many steps are as their graphs demand, and nothing is kept
// of steps that are gone. It changes nothing.
//
// It reads page by page and can run beside any load: whatever looks wrong is
// looked at again, and only what stays wrong is a finding. It takes about 50 bytes
// of memory per step of a partition.
func (c *Client) Audit(ctx context.Context, o AuditOptions) (AuditReport, error) {
	d, err := c.open(ctx)
	if err != nil {
		return AuditReport{}, err
	}
	a := &audit{progress: o.Progress}
	for _, p := range d.parts {
		if err := a.partition(ctx, p); err != nil {
			return a.report, fmt.Errorf("queue: audit partition %d: %w", p.number, err)
		}
	}
	return a.report, nil
}

// audit is one call of Audit.
type audit struct {
	report   AuditReport
	progress func(int)
}

func (a *audit) partition(ctx context.Context, p *partition) error {
	s := &stepAudit{audit: a, p: p, steps: make(map[StepID]*auditStep), queueAt: make(map[string]uint32)}
	for _, part := range []func(context.Context) error{s.bodies, s.counter, s.ghosts, s.indexes, s.nodes, s.judge} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	s.steps = nil
	for _, part := range []func(context.Context, *partition) error{a.sideTables, a.uniqueKeys, a.sessions, s.runs, a.sweeps, a.orphans} {
		if err := part(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *audit) looked(n int) {
	a.report.Checked += n
	if a.progress != nil {
		a.progress(a.report.Checked)
	}
}

func (a *audit) found(f Finding) {
	if len(a.report.Findings) < maxFindings {
		a.report.Findings = append(a.report.Findings, f)
	}
}
