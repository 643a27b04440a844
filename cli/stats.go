package cli

import (
	"maps"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) statsCommand() *urfave.Command {
	return &urfave.Command{
		Name: "stats", Category: groupLook, Usage: "count what happened: in all, and minute by minute",
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "minutes", Value: 15, Usage: "show the last `N` minutes, up to 180"},
		},
		Action: p.stats,
	}
}

// statsView is the statistics for programs.
type statsView struct {
	Totals  map[cyclone.EventType]int64 `json:"totals"`
	Minutes []minuteView                `json:"minutes"`
}

type minuteView struct {
	Start  time.Time                   `json:"start"`
	Counts map[cyclone.EventType]int64 `json:"counts"`
}

// countedEvents are shown in this order; others follow by name.
var countedEvents = []cyclone.EventType{
	cyclone.EventEnqueued, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventSnoozed, cyclone.EventSuspended, cyclone.EventLost,
	cyclone.EventReleased, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventRetried, cyclone.EventDeleted,
}

func (p *program) stats(c *urfave.Context) error {
	minutes := c.Int("minutes")
	if minutes < 0 || minutes > queue.StatsMinutes {
		return usagef("", "--minutes is %d: must be 0 to %d", minutes, queue.StatsMinutes)
	}
	client, _, err := p.connected(c, 0, 0)
	if err != nil {
		return err
	}
	s, err := client.Stats(c.Context, minutes)
	if err != nil {
		return err
	}
	if p.json {
		v := statsView{Totals: s.Totals, Minutes: []minuteView{}}
		for _, m := range s.Minutes {
			v.Minutes = append(v.Minutes, minuteView{Start: m.Start.UTC(), Counts: m.Counts})
		}
		p.object(v)
		return nil
	}
	p.statsTable(s)
	return nil
}

func (p *program) statsTable(s queue.Stats) {
	if len(s.Totals) == 0 {
		p.note("Nothing has happened yet.")
		return
	}
	shown := slices.DeleteFunc(slices.Clone(countedEvents), func(e cyclone.EventType) bool { return s.Totals[e] == 0 })
	for _, e := range slices.Sorted(maps.Keys(s.Totals)) {
		if !slices.Contains(shown, e) {
			shown = append(shown, e)
		}
	}
	t := terminal.Table{Columns: []terminal.Column{{Title: ""}}}
	total := []terminal.Cell{{Text: "in all"}}
	for _, e := range shown {
		t.Columns = append(t.Columns, terminal.Column{Title: terminal.Clean(string(e)), Right: true})
		total = append(total, number(s.Totals[e], eventColours[e]))
	}
	for i, m := range s.Minutes {
		if len(m.Counts) == 0 && t.Len() == 0 && i < len(s.Minutes)-1 {
			continue // nothing had happened yet
		}
		row := []terminal.Cell{{Text: m.Start.Local().Format("15:04"), Colour: terminal.Dim}}
		for _, e := range shown {
			row = append(row, number(m.Counts[e], eventColours[e]))
		}
		t.Add(row...)
	}
	t.Add(total...)
	p.table(&t)
}
