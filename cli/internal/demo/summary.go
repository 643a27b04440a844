package demo

import (
	"context"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// Summary is what happened in a demo.
type Summary struct {
	Type    string  `json:"type"` // "summary"
	Seconds float64 `json:"seconds"`
	// Kinds count by kind of job, Total over all of them.
	Kinds map[string]*KindSummary `json:"kinds"`
	Total KindSummary             `json:"total"`
	// Runs is the number of runs of many steps that have ended.
	Runs int `json:"runs"`
	// HalfStartedMS and MostStartedMS are the median and the 95th percentile of the
	// time from enqueue to start of the steps that were ready at once.
	HalfStartedMS float64 `json:"started_p50_ms"`
	MostStartedMS float64 `json:"started_p95_ms"`
	// Killed is the worker process that was killed, nil when none was.
	Killed *Killed `json:"killed,omitempty"`
	// Discarded are steps that are left to look at.
	Discarded []Reference `json:"discarded"`
	// Checked is how many entries the audit looked at, Findings what it found.
	Checked  int      `json:"audit_checked"`
	Findings []string `json:"audit_findings"`
	// Missed tells that events were missing and the counts are not exact.
	Missed bool `json:"missed_events,omitempty"`
}

// KindSummary counts the steps of one kind.
type KindSummary struct {
	kindTally
	// Unfinished is the number of steps that had something to come at the end.
	Unfinished int `json:"unfinished"`
}

// Killed tells of a worker process that was killed.
type Killed struct {
	PID    int    `json:"pid"`
	Worker string `json:"worker"`
	// Steps is how many steps it was running, and Taken how many were claimed by
	// another worker, the last of them so many seconds after the kill.
	Steps   int     `json:"steps"`
	Taken   int     `json:"taken_over"`
	Seconds float64 `json:"taken_over_after_seconds"`
}

// Reference names a step.
type Reference struct {
	RunID cyclone.RunID `json:"run_id"`
	Node  string        `json:"node"`
	Error string        `json:"error"`
}

// shownDiscarded is how many discarded steps a summary names.
const shownDiscarded = 5

func (s *stage) summary(ctx context.Context) (*Summary, error) {
	out := s.tally.summary()
	out.Seconds = min(time.Since(s.plan.Start), s.plan.Length).Seconds()
	if s.killed != nil {
		out.Killed = s.killed
		s.tally.mu.Lock()
		if out.Killed.Taken = len(s.tally.taken); out.Killed.Taken > 0 {
			out.Killed.Seconds = slices.Max(s.tally.taken).Seconds()
		}
		s.tally.mu.Unlock()
	}
	page, err := s.cfg.Client.List(ctx, queue.ListQuery{State: cyclone.StepExhausted, Limit: shownDiscarded})
	if err != nil {
		return nil, err
	}
	out.Discarded = make([]Reference, 0, len(page.Steps))
	for _, info := range page.Steps {
		out.Discarded = append(out.Discarded, Reference{info.RunID, info.Node, info.Error})
	}
	report, err := s.cfg.Client.Audit(ctx, queue.AuditOptions{})
	if err != nil {
		return nil, err
	}
	out.Checked, out.Findings = report.Checked, make([]string, 0, len(report.Findings))
	for _, f := range report.Findings {
		out.Findings = append(out.Findings, f.Rule+": "+f.Key+" "+f.Member+": "+f.Text)
	}
	return out, nil
}

func (t *tally) summary() *Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &Summary{Type: "summary", Kinds: map[string]*KindSummary{}, Runs: t.runs, Missed: t.missed > 0}
	for name, k := range t.kinds {
		sum := &KindSummary{kindTally: *k}
		for _, n := range k.now {
			sum.Unfinished += n
		}
		out.Kinds[name] = sum
		out.Total.add(sum)
	}
	half, most := t.percentiles()
	out.HalfStartedMS, out.MostStartedMS = float64(half)/1e6, float64(most)/1e6
	return out
}

func (k *KindSummary) add(o *KindSummary) {
	k.Enqueued += o.Enqueued
	k.Completed += o.Completed
	k.Failed += o.Failed
	k.Recovered += o.Recovered
	k.Snoozed += o.Snoozed
	k.Lost += o.Lost
	k.Discarded += o.Discarded
	k.Retried += o.Retried
	k.Repaired += o.Repaired
	k.Unfinished += o.Unfinished
}
