package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) eventsCommand() *urfave.Command {
	return &urfave.Command{
		Name: "events", Category: groupLook, Usage: "print what happens to steps, as it happens, until it is interrupted",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "run", Usage: "only of the run `ID`"},
			&urfave.StringSliceFlag{Name: "queue", Usage: "only of the queue `NAME`; may be repeated"},
			&urfave.StringSliceFlag{Name: "kind", Usage: "only of the kind `NAME`; may be repeated"},
			&urfave.StringSliceFlag{Name: "type", Usage: "only `TYPE`: " + joinTypes() + "; may be repeated"},
			&urfave.DurationFlag{Name: "for", Usage: "end after `DURATION`", DefaultText: "never"},
		},
		Action: p.events,
	}
}

// eventTypes are all types, in the order of a step's life.
var eventTypes = []cyclone.EventType{
	cyclone.EventEnqueued, cyclone.EventClaimed, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventSnoozed, cyclone.EventSuspended, cyclone.EventReleased,
	cyclone.EventLost, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventRetried, cyclone.EventPromoted, cyclone.EventRescheduled, cyclone.EventDeleted,
	cyclone.EventFinished,
}

func joinTypes() string {
	names := make([]string, len(eventTypes))
	for i, e := range eventTypes {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

func (p *program) events(c *urfave.Context) error {
	filter, err := eventFilter(c)
	if err != nil {
		return err
	}
	client, _, err := p.connected(c, 0, 0)
	if err != nil {
		return err
	}
	sub, err := client.Subscribe(c.Context, filter)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	p.note("Listening; an interrupt ends it.")
	ctx := c.Context
	if limit := c.Duration("for"); limit > 0 { // counted from here: to get here may take longer
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for e, err := range sub.Events(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil // interrupted, or the time is over: both are the way to end it
		case errors.Is(err, queue.ErrLagged):
			p.note("Some events were missed here.")
		case err != nil:
			return err
		case p.json:
			p.object(eventOf(e))
		default:
			p.printf("%s  %s %s  %s", p.paint.Paint(terminal.Dim, e.At.Local().Format("15:04:05.000")),
				p.paint.Paint(eventColours[e.Type], terminal.Pad(terminal.Clean(string(e.Type)), 11, false)),
				terminal.Pad(terminal.Clean(fmt.Sprintf("%s %v", e.Kind, e.RunID)), 24, false), terminal.Clean(eventText(e)))
		}
	}
	return nil
}

func eventFilter(c *urfave.Context) (queue.EventFilter, error) {
	f := queue.EventFilter{Queues: c.StringSlice("queue"), Kinds: c.StringSlice("kind")}
	if text := c.String("run"); text != "" {
		id, err := runID(text)
		if err != nil {
			return f, err
		}
		f.RunID = id
	}
	for _, text := range c.StringSlice("type") {
		if !slices.Contains(eventTypes, cyclone.EventType(text)) {
			return f, usagef("There is: "+joinTypes()+".", "--type %q is not a type of event", text)
		}
		f.Types = append(f.Types, cyclone.EventType(text))
	}
	return f, nil
}

func eventText(e cyclone.StepEvent) string {
	var parts []string
	if e.State != "" {
		parts = append(parts, "→ "+string(e.State))
	}
	if e.Attempt > 0 && e.Type != cyclone.EventEnqueued {
		parts = append(parts, fmt.Sprintf("attempt %d", e.Attempt))
	}
	if e.Error != "" {
		parts = append(parts, e.Error)
	}
	if !e.DueAt.IsZero() {
		parts = append(parts, "due in "+terminal.Duration(max(e.DueAt.Sub(e.At), 0)))
	}
	return strings.Join(append(parts, e.Queue), " · ")
}
