package cli

import (
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// problem is a failure for programs.
type problem struct {
	Error string `json:"error"`
	// Code names the exit code, which stands beside it.
	Code string `json:"code"`
	Exit int    `json:"exit"`
	// Next says what to do.
	Next string `json:"next,omitempty"`
}

// report prints what went wrong on standard error.
func (p *program) report(err error) {
	var done silent
	if err == nil || errors.As(err, &done) {
		return
	}
	text, next := p.hide(err.Error()), ""
	var f *failure
	if errors.As(err, &f) {
		text, next = p.hide(f.text), p.hide(f.next)
	}
	exit := codeOf(err)
	if p.json {
		p.writeJSON(p.Err, problem{Error: text, Code: exitNames[exit], Exit: exit, Next: next})
		return
	}
	fmt.Fprintf(p.Err, "%s %s\n", p.painted.Paint(terminal.Alarm, "cyclone:"), terminal.Clean(text))
	if next != "" {
		fmt.Fprintf(p.Err, "%s %s\n", p.painted.Paint(terminal.Dim, "     →"), terminal.Clean(next))
	}
}

// hint says, below a result, what can be done next.
func (p *program) hint(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.Err, "\n%s %s\n", p.painted.Paint(terminal.Dim, "→"), terminal.Clean(fmt.Sprintf(format, args...)))
	}
}

// note prints a remark beside the result, on standard error; programs do not get it.
func (p *program) note(format string, args ...any) {
	if !p.json {
		fmt.Fprintln(p.Err, terminal.Clean(fmt.Sprintf(format, args...)))
	}
}
