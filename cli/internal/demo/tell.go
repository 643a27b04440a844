package demo

import (
	"fmt"
	"github.com/cyclone-queue/cyclone/queue"
	"io"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// Tell prints a summary for people.
func (s *Summary) Tell(out io.Writer, paint terminal.Painter, columns int) {
	fmt.Fprintln(out, paint.Paint(terminal.Bold, fmt.Sprintf("What happened in %.1f s", s.Seconds)))
	fmt.Fprintln(out)
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "  job"}, {Title: "enqueued", Right: true}, {Title: "completed", Right: true}, {Title: "failures", Right: true},
		{Title: "snoozes", Right: true}, {Title: "lost", Right: true}, {Title: "discarded", Right: true}, {Title: "unfinished", Right: true},
	}}
	for _, name := range kinds {
		t.Add(s.Kinds[name].cells("  " + kindName(name))...)
	}
	t.Add(s.Total.cells("  all")...)
	for _, line := range t.Render(paint, columns) {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	for _, line := range s.lines() {
		for i, part := range wrap(line.text, min(max(columns, 80), 100)-4) {
			mark := " "
			if i == 0 {
				mark = paint.Paint(line.colour, line.mark)
			}
			fmt.Fprintf(out, "  %s %s\n", mark, part)
		}
	}
}

func (k *KindSummary) cells(name string) []terminal.Cell {
	return []terminal.Cell{
		{Text: name}, count(k.Enqueued, terminal.Plain), count(k.Completed, terminal.Good), count(k.Failed, terminal.Warn),
		count(k.Snoozed, terminal.Wait), count(k.Lost, terminal.Bad), count(k.Discarded, terminal.Bad), count(k.Unfinished, terminal.Plain),
	}
}

func count(n int, colour terminal.Colour) terminal.Cell {
	if n == 0 {
		return terminal.Cell{Text: "·", Colour: terminal.Dim}
	}
	return terminal.Cell{Text: terminal.Count(n), Colour: colour}
}

// remark is one sentence of a summary.
type remark struct {
	mark   string
	colour terminal.Colour
	text   string
}

func (s *Summary) lines() []remark {
	var out []remark
	good := func(format string, args ...any) {
		out = append(out, remark{"✓", terminal.Good, fmt.Sprintf(format, args...)})
	}
	bad := func(format string, args ...any) {
		out = append(out, remark{"✗", terminal.Bad, fmt.Sprintf(format, args...)})
	}
	all := s.Total
	if sum := all.Completed + all.Discarded + all.Unfinished; sum == all.Enqueued {
		left := ""
		if all.Unfinished > 0 {
			left = fmt.Sprintf(" + %d unfinished", all.Unfinished)
		}
		good("Every step is accounted for: %d enqueued = %d completed + %d discarded%s.", all.Enqueued, all.Completed, all.Discarded, left)
	} else if !s.Missed {
		bad("%d steps were enqueued, and %d are accounted for.", all.Enqueued, sum)
	}
	if hooks := s.Kinds["deliver_webhook"]; hooks.Failed > 0 {
		good("%s to deliver a webhook failed while the partner was down; those %s got through later.",
			terminal.Plural(hooks.Failed, "attempt", "attempts"), terminal.Plural(hooks.Recovered, "webhook", "webhooks"))
	}
	if mail := s.Kinds["send_email"]; mail.Failed > 0 {
		good("%s turned away by the mail server went out when it said to come back.", terminal.Plural(mail.Recovered, "letter", "letters"))
	}
	if crm := s.Kinds["sync_contact"]; crm.Snoozed > 0 {
		good("The rate-limited API put its steps off %s, which used up no attempt.", terminal.Plural(crm.Snoozed, "time", "times"))
	}
	if waits := s.Kinds[queue.KindWait]; s.Runs > 0 && waits.Completed > 0 {
		good("%s, each a run of four steps, waited for an approval and held no worker meanwhile; %s ended.",
			terminal.Plural(waits.Enqueued, "large order", "large orders"), terminal.Count(s.Runs))
	}
	if k := s.Killed; k != nil {
		if k.Taken > 0 {
			good("Worker %s was killed while it ran %s; within %.1f s another worker had them, as the same attempt.", k.Worker, terminal.Plural(k.Steps, "step", "steps"), k.Seconds)
		} else {
			good("Worker %s was killed; it held nothing at that moment.", k.Worker)
		}
	}
	if all.Retried > 0 {
		good("%s had been discarded for a bug; after the fix the operator retried them and %s completed.", terminal.Plural(all.Retried, "row", "rows"), terminal.Count(all.Repaired))
	}
	if s.HalfStartedMS > 0 || s.MostStartedMS > 0 {
		good("Half of the steps started within %.0f ms of their enqueue, 95 %% within %.0f ms.", s.HalfStartedMS, s.MostStartedMS)
	}
	if len(s.Findings) == 0 {
		good("The audit looked at %s and found nothing out of place.", terminal.Plural(s.Checked, "entry", "entries"))
	}
	for _, f := range s.Findings {
		bad("Audit: %s", terminal.Clean(f))
	}
	if s.Missed {
		out = append(out, remark{"!", terminal.Warn, "Some events were missed, so the counts are not exact."})
	}
	return out
}
