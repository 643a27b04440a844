package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// purged are the states that a purge empties.
var purged = []cyclone.StepState{cyclone.StepReady, cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed}

func (p *program) purgeCommand() *urfave.Command {
	return &urfave.Command{
		Name: "purge", Category: groupOperate, ArgsUsage: "QUEUE",
		Usage:       "delete everything that waits in a queue",
		Description: "It cannot be undone. What runs or has ended stays. It counts first, and wants --yes or the queue's name to be typed.",
		Flags:       []urfave.Flag{yesFlag()},
		Action:      p.purge,
	}
}

func (p *program) purge(c *urfave.Context) error {
	client, name, err := p.onQueue(c)
	if err != nil {
		return err
	}
	all, err := client.Queues(c.Context)
	if err != nil {
		return err
	}
	q, err := pick(all, name)
	if err != nil {
		return err
	}
	total := 0
	var parts []string
	for _, s := range purged {
		if n := q.Counts[s]; n > 0 {
			total += int(n)
			parts = append(parts, fmt.Sprintf("%s %s", terminal.Count(n), s))
		}
	}
	if total > 0 {
		p.note("%s of queue %s will be deleted: %s.", terminal.Plural(total, "step", "steps"), name, strings.Join(parts, ", "))
		if err := p.confirm(c.Bool("yes"), name); err != nil {
			return err
		}
	}
	bar := p.progress()
	done, err := client.Purge(c.Context, name, func(done queue.Progress) {
		bar.tell("deleted %s of about %s", terminal.Count(done.Done), terminal.Count(total))
	})
	bar.done()
	if err != nil {
		p.note("Deleted %s so far; the same command goes on.", terminal.Plural(done.Done, "step", "steps"))
		return err
	}
	if p.json {
		p.object(purgeResult{Operation: "purge", Queue: name, Done: done.Done})
		return nil
	}
	p.printf("deleted %s of %s", terminal.Plural(done.Done, "step", "steps"), name)
	return nil
}

// purgeResult is what a purge did, for programs.
type purgeResult struct {
	Operation string `json:"operation"`
	Queue     string `json:"queue"`
	Done      int    `json:"done"`
}
