package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// stepDetail is a step with all that is known of it, for programs.
type stepDetail struct {
	step
	// Awaits are the signals that it waits for.
	Awaits  []string          `json:"awaits,omitempty"`
	Input   *payload          `json:"input"`
	Output  *payload          `json:"output,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
	History []historyEntry    `json:"history"`
}

// historyEntry is one thing that happened to a step, for programs.
type historyEntry struct {
	At           time.Time         `json:"at"`
	Type         cyclone.EventType `json:"type"`
	Attempt      int               `json:"attempt,omitempty"`
	Error        string            `json:"error,omitempty"`
	Code         string            `json:"code,omitempty"`
	Stack        string            `json:"stack,omitempty"`
	Worker       string            `json:"worker,omitempty"`
	DelaySeconds float64           `json:"delay_seconds,omitempty"`
	Started      bool              `json:"started,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	Additional   int               `json:"additional_attempts,omitempty"`
}

func detailOf(d queue.StepDetail) stepDetail {
	v := stepDetail{step: stepOf(d.StepInfo), Input: payloadOf(d.Input), Output: payloadOf(d.Output), Meta: d.Meta, History: []historyEntry{}}
	for _, h := range d.History {
		v.History = append(v.History, historyEntry{
			At: h.At.UTC(), Type: h.Type, Attempt: h.Attempt, Error: h.Error, Code: h.Code, Stack: h.Stack, Worker: h.Worker,
			DelaySeconds: h.Delay.Seconds(), Started: h.Started, Reason: h.Reason, Additional: h.Additional,
		})
	}
	return v
}

// field prints one line of a description.
func (p *program) field(name, value string) {
	if value != "" {
		p.printf("%s %s", p.paint.Paint(terminal.Dim, terminal.Pad(name, 13, false)), value)
	}
}

func (p *program) showStep(d queue.StepDetail, awaits []string) {
	p.field("run", d.RunID.String())
	p.field("node", terminal.Clean(d.Node))
	if d.Kind != d.Node {
		p.field("kind", terminal.Clean(d.Kind))
	}
	p.field("queue", terminal.Clean(d.Queue)+map[bool]string{true: ", priority " + d.Priority.String()}[d.Priority != cyclone.Default])
	p.field("state", p.paint.Paint(stateColours[d.State], string(d.State)))
	p.field("attempts", attempts(d.StepInfo))
	if d.Error != "" || d.Code != "" {
		p.field("error", p.paint.Paint(terminal.Bad, terminal.Clean(d.Error))+p.paint.Paint(terminal.Dim, "  ["+terminal.Clean(d.Code)+"]"))
	}
	for _, m := range []struct {
		name string
		at   time.Time
	}{{"enqueued", d.EnqueuedAt}, {"due", d.DueAt}, {"finished", d.FinishedAt}} {
		if !m.at.IsZero() {
			p.field(m.name, p.moment(m.at))
		}
	}
	if d.State == cyclone.StepWaiting {
		p.field("waits", terminal.Clean(p.awaitText(d.StepInfo, awaits)))
	}
	p.field("worker", terminal.Clean(d.Worker))
	p.field("besides", besides(d.StepInfo))
	for _, key := range slices.Sorted(maps.Keys(d.Meta)) {
		p.field("meta", terminal.Clean(key)+" = "+terminal.Clean(d.Meta[key]))
	}
	p.showPayload("input", d.Input)
	p.showPayload("output", d.Output)
	p.showHistory(d.History)
}

// besides counts what uses up no attempt.
func besides(s cyclone.StepInfo) string {
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{s.Snoozes, "snooze", "snoozes"}, {s.LostStarted, "lease lost while running", "leases lost while running"},
		{s.LostUnstarted, "lease lost before the start", "leases lost before the start"}, {s.Interruptions, "interruption", "interruptions"},
	} {
		if c.n > 0 {
			parts = append(parts, terminal.Plural(c.n, c.one, c.many))
		}
	}
	return strings.Join(parts, ", ")
}

// payloadShown bounds how much of a payload is printed for people.
const payloadShown = 4096

func (p *program) showPayload(name string, b queue.Payload) {
	if b.Codec == "" {
		return
	}
	title := fmt.Sprintf("%s, %s", terminal.Clean(b.Codec), terminal.Bytes(int64(len(b.Bytes))))
	var pretty bytes.Buffer
	if b.JSON == nil || json.Indent(&pretty, b.JSON, "", "  ") != nil {
		p.field(name, title+", cannot be shown; --json has its bytes")
		return
	}
	p.field(name, p.paint.Paint(terminal.Dim, title))
	shown := pretty.Bytes()
	if len(shown) > payloadShown {
		shown = bytes.ToValidUTF8(shown[:payloadShown], nil)
		defer p.printf("  %s", p.paint.Paint(terminal.Dim, "… --json shows all of it"))
	}
	for line := range strings.Lines(string(shown)) {
		p.printf("  %s", string(terminal.CleanJSON([]byte(strings.TrimRight(line, "\n")))))
	}
}

func (p *program) showHistory(history []queue.HistoryEntry) {
	if len(history) == 0 {
		return
	}
	p.field("history", fmt.Sprint(len(history)))
	for _, h := range history {
		p.printf("  %s  %s  %s", p.paint.Paint(terminal.Dim, h.At.Local().Format("2006-01-02 15:04:05.000")),
			p.paint.Paint(eventColours[h.Type], terminal.Pad(terminal.Clean(string(h.Type)), 9, false)), terminal.Clean(historyText(h)))
		for _, line := range stackLines(h.Stack) {
			p.printf("      %s", p.paint.Paint(terminal.Dim, line))
		}
	}
}

var eventColours = map[cyclone.EventType]terminal.Colour{
	cyclone.EventFailed: terminal.Warn, cyclone.EventDiscarded: terminal.Bad, cyclone.EventLost: terminal.Bad,
	cyclone.EventSnoozed: terminal.Wait, cyclone.EventRetried: terminal.Accent, cyclone.EventCompleted: terminal.Good,
}

func historyText(h queue.HistoryEntry) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if h.Attempt > 0 {
		add("attempt %d", h.Attempt)
	}
	if h.Error != "" {
		add("%s", h.Error)
	}
	if h.Code != "" && h.Code != "error" {
		add("[%s]", h.Code)
	}
	if h.Delay > 0 {
		add("again after %s", terminal.Duration(h.Delay))
	}
	if h.Type == cyclone.EventLost {
		add("%s", map[bool]string{true: "while its handler ran", false: "before its handler started"}[h.Started])
	}
	if h.Additional > 0 {
		add("%s", terminal.Plural(h.Additional, "more attempt", "more attempts"))
	}
	if h.Reason != "" {
		add("reason: %s", h.Reason)
	}
	if h.Worker != "" {
		add("on %s", h.Worker)
	}
	return strings.Join(parts, " · ")
}

func stackLines(stack string) []string {
	if stack == "" {
		return nil
	}
	return terminal.Lines(stack)
}

// nextForStep says what one can do about a step.
func (p *program) nextForStep(s cyclone.StepInfo, awaits []string, alone bool) {
	signals := signalsOf(awaits)
	switch {
	case s.State == cyclone.StepExhausted:
		p.hint("Open it again with `cyclone retry %v %s`.", s.RunID, s.Node)
	case s.State == cyclone.StepWaiting && len(signals) > 0:
		p.hint("Send the signal with `cyclone signal %v %s --json '…'`.", s.RunID, signals[0])
	case alone:
		p.hint("Start it now with `cyclone run-now %v`.", s.RunID)
	}
}
