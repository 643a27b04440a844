package cli

import (
	"cmp"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) doctorCommand() *urfave.Command {
	return &urfave.Command{
		Name: "doctor", Category: groupLook,
		Usage: "check the servers' set-up and that every stored entry is in its place",
		Description: "The set-up: version, eviction policy, memory limit, persistence, clock. The audit: every step is in exactly one index,\n" +
			"bodies and indexes agree, unique keys have holders, runs of many steps are as their graphs demand. It changes nothing,\n" +
			"may run while workers do, and exits with 5 when something is wrong; warnings do that with --strict only.",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "strict", Usage: "let warnings count as findings", DisableDefaultText: true},
			&urfave.BoolFlag{Name: "no-audit", Usage: "check only the set-up", DisableDefaultText: true},
		},
		Action: p.doctor,
	}
}

// diagnosis is doctor's result for programs.
type diagnosis struct {
	Prefix     string       `json:"prefix"`
	Schema     int          `json:"schema"`
	Partitions int          `json:"partitions"`
	Servers    []serverView `json:"servers"`
	Checks     []check      `json:"checks"`
	Audit      *auditView   `json:"audit,omitempty"`
	OK         bool         `json:"ok"`
}

// auditView is the audit for programs.
type auditView struct {
	Checked  int           `json:"checked"`
	Steps    int           `json:"steps"`
	Findings []findingView `json:"findings"`
	// NotLooked says what was not looked for, and why.
	NotLooked string `json:"not_looked,omitempty"`
}

type findingView struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Member string `json:"member"`
	Text   string `json:"text"`
}

func (p *program) doctor(c *urfave.Context) error {
	client, _, err := p.connected(c, 0, 0)
	if err != nil {
		return err
	}
	health, err := client.Health(c.Context)
	if err != nil {
		return err
	}
	d := diagnosis{Prefix: health.Prefix, Schema: health.Schema, Partitions: health.Partitions, Servers: []serverView{}, Checks: []check{}, OK: true}
	for i := range health.Servers {
		s := &health.Servers[i]
		d.Servers = append(d.Servers, serverOf(s))
		d.Checks = append(d.Checks, checkServer(s)...)
	}
	for _, ch := range d.Checks {
		if ch.Level == levelBad || ch.Level == levelWarn && c.Bool("strict") {
			d.OK = false
		}
	}
	if !c.Bool("no-audit") {
		bar := p.progress()
		report, err := client.Audit(c.Context, queue.AuditOptions{Progress: func(n int) { bar.tell("audit: looked at %s entries", terminal.Count(n)) }})
		bar.done()
		if err != nil {
			return err
		}
		d.Audit = auditOf(report)
		d.OK = d.OK && len(report.Findings) == 0
	}
	if p.json {
		p.object(d)
	} else {
		p.tellDiagnosis(&d)
	}
	if !d.OK {
		return silent(ExitFindings)
	}
	return nil
}

func auditOf(r queue.AuditReport) *auditView {
	v := &auditView{Checked: r.Checked, Steps: r.Steps, Findings: []findingView{}, NotLooked: r.NotLooked}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, findingView(f))
	}
	return v
}

// marks stand before the checks, by level.
var marks = map[level]struct {
	mark   string
	colour terminal.Colour
}{
	levelGood: {"✓", terminal.Good}, levelNote: {"·", terminal.Dim}, levelWarn: {"!", terminal.Warn}, levelBad: {"✗", terminal.Bad},
}

// findingsShown bounds the findings that are printed for people.
const findingsShown = 50

func (p *program) tellDiagnosis(d *diagnosis) {
	p.printf("deployment %s: schema %d, %s", p.paint.Paint(terminal.Bold, terminal.Clean(d.Prefix)), d.Schema, terminal.Plural(d.Partitions, "partition", "partitions"))
	for _, s := range d.Servers {
		p.printf("\n%s  %s", p.paint.Paint(terminal.Bold, terminal.Clean(s.Addr)), terminal.Clean(s.describe()))
		checks := slices.DeleteFunc(slices.Clone(d.Checks), func(c check) bool { return c.Server != s.Addr })
		slices.SortStableFunc(checks, func(a, b check) int { return cmp.Compare(levelOrder[b.Level], levelOrder[a.Level]) })
		for _, c := range checks {
			p.tellCheck(c)
		}
	}
	if d.Audit == nil {
		return
	}
	p.printf("\n%s", p.paint.Paint(terminal.Bold, "audit"))
	if n := len(d.Audit.Findings); n > 0 {
		p.tellCheck(check{Level: levelBad, Text: fmt.Sprintf("%s in %s", terminal.Plural(n, "finding", "findings"), terminal.Plural(d.Audit.Checked, "entry", "entries")),
			Next: "Something else writes to these keys, or this is a bug: please report it with the lines below."})
	} else {
		p.tellCheck(check{Level: levelGood, Text: fmt.Sprintf("%s, %s: all in their place", terminal.Plural(d.Audit.Steps, "step", "steps"), terminal.Plural(d.Audit.Checked, "entry", "entries"))})
	}
	if d.Audit.NotLooked != "" {
		p.tellCheck(check{Level: levelNote, Text: "not looked for: " + d.Audit.NotLooked})
	}
	for i, f := range d.Audit.Findings {
		if i == findingsShown {
			p.printf("    … and %d more; --json has all of them", len(d.Audit.Findings)-i)
			break
		}
		p.printf("    %s  %s %s: %s", terminal.Clean(f.Rule), terminal.Clean(f.Key), terminal.Clean(f.Member), terminal.Clean(f.Text))
	}
}

func (p *program) tellCheck(c check) {
	m := marks[c.Level]
	p.printf("  %s %s", p.paint.Paint(m.colour, m.mark), terminal.Clean(c.Text))
	if c.Next != "" {
		p.printf("      %s", p.paint.Paint(terminal.Dim, terminal.Clean(c.Next)))
	}
}
