package demo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// Escape sequences of a frame, which does not flicker.
const (
	beginFrame = "\x1b[?2026h\x1b[H" // draw at once, where the terminal can
	endLine    = "\x1b[K\r\n"
	endFrame   = "\x1b[J\x1b[?2026l"
)

// live draws a demo again and again on a terminal.
type live struct {
	out    io.Writer
	paint  terminal.Painter
	plan   Plan
	tally  *tally
	cast   *cast
	where  string
	now    chapter
	feed   []said
	closed bool
}

func newLive(out io.Writer, paint terminal.Painter, plan Plan, t *tally, c *cast, where string) *live {
	fmt.Fprint(out, terminal.EnterScreen)
	return &live{out: out, paint: paint, plan: plan, tally: t, cast: c, where: where}
}

func (v *live) chapter(c chapter) { v.now = c; v.tick() }

// feedLimit is how many lines of the feed are kept, more than any screen shows.
const feedLimit = 200

func (v *live) event(e cyclone.StepEvent, before step) {
	if s, ok := say(v.plan.Start, e, before); ok {
		if n := len(v.feed); n > 0 && s.joins(&v.feed[n-1]) {
			return
		}
		v.feed = append(v.feed, s)
		if len(v.feed) > feedLimit {
			v.feed = append(v.feed[:0], v.feed[feedLimit/2:]...)
		}
	}
}

func (v *live) close() {
	if !v.closed {
		v.closed = true
		fmt.Fprint(v.out, terminal.LeaveScreen)
	}
}

func (v *live) tick() {
	columns, rows := terminal.Size(v.out)
	columns = min(columns, 110)
	top := v.frame(columns)
	var b bytes.Buffer
	b.WriteString(beginFrame)
	for i, line := range top {
		if i >= rows {
			break
		}
		b.WriteString(terminal.Clip(line, columns))
		if i < rows-1 {
			b.WriteString(endLine)
		}
	}
	room := rows - len(top)
	for i := max(len(v.feed)-room, 0); i < len(v.feed) && room > 0; i++ {
		b.WriteString(v.feedLine(v.feed[i], columns))
		if i < len(v.feed)-1 {
			b.WriteString(endLine)
		}
	}
	b.WriteString("\x1b[K" + endFrame)
	_, _ = v.out.Write(b.Bytes())
}

// frame is everything above the feed.
func (v *live) frame(columns int) []string {
	v.tally.mu.Lock()
	defer v.tally.mu.Unlock()
	passed := min(max(time.Since(v.plan.Start), 0), v.plan.Length)
	lines := []string{v.title(passed, columns), v.bar(passed, columns), ""}
	lines = append(lines, v.story(columns)...)
	lines = append(lines, "")
	lines = append(lines, v.kinds(columns)...)
	lines = append(lines, "", v.legend(), "")
	lines = append(lines, v.workers(columns)...)
	lines = append(lines, "", v.pulse(passed), "")
	return lines
}

func (v *live) title(passed time.Duration, columns int) string {
	right := fmt.Sprintf("%.1fs of %v", passed.Seconds(), v.plan.Length)
	left := "Cyclone demo"
	middle := terminal.Fit("  "+v.where, max(columns-len(left)-len(right)-1, 1))
	space := strings.Repeat(" ", max(columns-len(left)-terminal.Width(middle)-len(right), 1))
	return v.paint.Paint(terminal.Accent, left) + v.paint.Paint(terminal.Dim, middle) + space + right
}

func (v *live) bar(passed time.Duration, columns int) string {
	full := int(float64(columns) * float64(passed) / float64(v.plan.Length))
	return v.paint.Paint(terminal.Busy, strings.Repeat("━", full)) + v.paint.Paint(terminal.Dim, strings.Repeat("─", max(columns-full, 0)))
}

// storyLines is how many lines the story takes, full or not, so that nothing
// below it jumps.
const storyLines = 2

func (v *live) story(columns int) []string {
	lines := wrap(v.now.text, min(columns, 100))
	for len(lines) < storyLines {
		lines = append(lines, "")
	}
	for i := range lines {
		lines[i] = v.paint.Paint(terminal.Bold, lines[i])
	}
	return lines
}

// wrap breaks text at spaces.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case terminal.Width(line)+1+terminal.Width(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// glyphs show the steps that have something to come, one each.
var glyphs = map[cyclone.StepState]struct {
	glyph  string
	colour terminal.Colour
}{
	cyclone.StepRunning:   {"►", terminal.Good},
	cyclone.StepReady:     {"•", terminal.Plain},
	cyclone.StepRetrying:  {"↻", terminal.Warn},
	cyclone.StepSnoozed:   {"z", terminal.Wait},
	cyclone.StepScheduled: {"◷", terminal.Dim},
	cyclone.StepWaiting:   {"◔", terminal.Accent},
}

func (v *live) kinds(columns int) []string {
	const layout = "%s %s %s %s %s  "
	titles := fmt.Sprintf(layout, terminal.Pad("job", 16, false), terminal.Pad("completed", 9, true),
		terminal.Pad("failures", 8, true), terminal.Pad("snoozes", 7, true), terminal.Pad("discarded", 9, true))
	room := columns - len(titles)
	lines := []string{v.paint.Paint(terminal.Dim, strings.TrimRight(titles, " ")+"  under way")}
	for _, name := range kinds {
		k := v.tally.kinds[name]
		lines = append(lines, fmt.Sprintf(layout, terminal.Pad(kindName(name), 16, false),
			v.count(k.Completed, 9, terminal.Good), v.count(k.Failed, 8, terminal.Warn),
			v.count(k.Snoozed, 7, terminal.Wait), v.count(k.Discarded, 9, terminal.Bad))+v.dots(k, room))
	}
	return lines
}

func (v *live) count(n, width int, colour terminal.Colour) string {
	if n == 0 {
		return v.paint.Paint(terminal.Dim, terminal.Pad("·", width, true))
	}
	return v.paint.Paint(colour, terminal.Pad(terminal.Count(n), width, true))
}

func (v *live) dots(k *kindTally, room int) string {
	var b strings.Builder
	for _, state := range moving {
		n := min(k.now[state], room)
		if room -= max(n, 0); n > 0 {
			b.WriteString(v.paint.Paint(glyphs[state].colour, strings.Repeat(glyphs[state].glyph, n)))
		}
	}
	return b.String()
}

func (v *live) legend() string {
	parts := make([]string, len(moving))
	for i, state := range moving {
		parts[i] = v.paint.Paint(glyphs[state].colour, glyphs[state].glyph) + " " + v.paint.Paint(terminal.Dim, string(state))
	}
	return strings.Join(parts, "   ")
}

func (v *live) workers(columns int) []string {
	var lines []string
	for _, m := range v.cast.members() {
		head := fmt.Sprintf("worker %s  pid %-7d ", terminal.Pad(m.id, 9, false), m.pid)
		if m.killed {
			lines = append(lines, v.paint.Paint(terminal.Dim, head)+v.paint.Paint(terminal.Alarm, "killed with kill -9"))
			continue
		}
		busy := 0
		if w := v.tally.workers[m.id]; w != nil {
			busy = min(len(w.running), m.slots)
		}
		slots := v.paint.Paint(terminal.Good, strings.Repeat("■", busy)) + v.paint.Paint(terminal.Dim, strings.Repeat("□", m.slots-busy))
		lines = append(lines, head+slots+v.paint.Paint(terminal.Dim, fmt.Sprintf("  %d of %d busy", busy, m.slots)))
	}
	for len(lines) < maxMembers {
		lines = append(lines, "")
	}
	return lines
}

// bars draw a number from 0 to 7.
var bars = []rune("▁▂▃▄▅▆▇█")

// pulse is the completions of each second, and how soon steps start.
func (v *live) pulse(passed time.Duration) string {
	const seconds = 24
	last := int(passed / time.Second)
	most := 1
	counts := make([]int, 0, seconds)
	for s := max(last-seconds, 0); s < last; s++ {
		n := 0
		if s < len(v.tally.finish) {
			n = v.tally.finish[s]
		}
		counts, most = append(counts, n), max(most, n)
	}
	var line strings.Builder
	for _, n := range counts {
		line.WriteRune(bars[n*(len(bars)-1)/most])
	}
	now := 0
	if len(counts) > 0 {
		now = counts[len(counts)-1]
	}
	median, most95 := v.tally.percentiles()
	return fmt.Sprintf("%s %s  %s", v.paint.Paint(terminal.Good, terminal.Pad(line.String(), seconds, true)),
		terminal.Pad(fmt.Sprintf("%d completed/s", now), 15, false),
		v.paint.Paint(terminal.Dim, fmt.Sprintf("start within %v, 95%% within %v", median, most95)))
}

func (v *live) feedLine(s said, columns int) string {
	head := clock(s.at) + "  "
	verb := terminal.Pad(s.verb, 9, false) + " "
	rest := terminal.Fit(terminal.Pad(s.what(), 20, false)+"  "+s.text, columns-len(head)-len(verb))
	return v.paint.Paint(terminal.Dim, head) + v.paint.Paint(s.colour, verb) + rest
}
