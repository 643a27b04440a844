package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// retried is the result of a retry within one run, for programs.
type retried struct {
	single
	// Opened are the nodes that were opened again, and CameBack those that their
	// failure had cancelled and that are part of the run again.
	Opened   []string `json:"opened"`
	CameBack []string `json:"came_back,omitempty"`
}

// retryRun opens one node of a run again, or all with node "", and tells what came
// back with it.
func (p *program) retryRun(c *urfave.Context, client *queue.Client, id cyclone.RunID, node string, opts []cyclone.RetryOption) error {
	before, err := client.GetRun(c.Context, id)
	if err != nil {
		return err
	}
	if node == "" {
		err = client.RetryAll(c.Context, id, opts...)
	} else {
		err = client.Retry(c.Context, id, node, opts...)
	}
	if err != nil {
		return p.notRetried(c, client, &before, node, err)
	}
	r := retried{single: single{Operation: "retry", RunID: id, Node: node}}
	r.compare(c.Context, client, &before)
	if p.json {
		p.object(r)
		return nil
	}
	p.printf("retried %s of run %v", terminal.Clean(listed(r.Opened)), id)
	if len(r.CameBack) > 0 {
		p.printf("back with %s: %s", map[bool]string{true: "it", false: "them"}[len(r.Opened) == 1], terminal.Clean(listed(r.CameBack)))
	}
	return nil
}

// compare finds out what a retry has changed. What it cannot look at any more it
// leaves out.
func (r *retried) compare(ctx context.Context, client *queue.Client, before *queue.RunInfo) {
	if r.Node != "" {
		r.Opened = []string{r.Node}
	}
	if before.Dependencies == nil {
		r.Opened = []string{before.Steps[0].Node}
		return
	}
	after, err := client.GetRun(ctx, before.ID)
	if err != nil || len(after.Steps) != len(before.Steps) {
		return
	}
	for i, was := range before.Steps {
		is := after.Steps[i]
		switch {
		case was.State == is.State || was.Node == r.Node:
		case was.State == cyclone.StepExhausted && r.Node == "":
			r.Opened = append(r.Opened, was.Node)
		case was.State == cyclone.StepCancelled:
			r.CameBack = append(r.CameBack, was.Node)
		}
	}
	if len(r.Opened) == 0 { // only what an operator had cancelled
		r.Opened, r.CameBack = r.CameBack, nil
	}
}

// listedNames bounds a list of nodes for people.
const listedNames = 10

// listed names nodes, and only counts the rest of a long list.
func listed(names []string) string {
	if len(names) <= listedNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %s more", strings.Join(names[:listedNames-1], ", "), terminal.Count(len(names)-listedNames+1))
}

// notRetried says what to do when a retry is refused.
func (p *program) notRetried(c *urfave.Context, client *queue.Client, run *queue.RunInfo, node string, err error) error {
	if node == "" {
		return err
	}
	var failed []string
	cancelled := false
	for _, s := range run.Steps {
		if s.State == cyclone.StepExhausted {
			failed = append(failed, s.Node)
		}
		cancelled = cancelled || s.Node == node && s.State == cyclone.StepCancelled
	}
	if cancelled && len(failed) > 0 {
		next := fmt.Sprintf("It comes back with what it was cancelled for: `cyclone retry %v %s`.", run.ID, failed[0])
		if len(failed) > 1 {
			next = fmt.Sprintf("It comes back with what it was cancelled for: `cyclone retry %v --all` opens %s.", run.ID, listed(failed))
		}
		return refusedf(next, "%s of run %v was cancelled because another node failed", node, run.ID)
	}
	return p.wrongNode(c, client, run.ID, node, err)
}
