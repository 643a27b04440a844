package demo

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

var sequence = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)

// Every frame fits a terminal of 80 × 24, whatever happens, and holds no control
// character but its own.
func TestLiveFits(t *testing.T) {
	t.Parallel()
	plan := Plan{Start: time.Now().Add(-10 * time.Second), Length: 20 * time.Second}
	tl, c := newTally(plan.Start), &cast{}
	for i := range maxMembers {
		c.add(member{id: "wabcdefg", pid: 4_000_000 + i, slots: mainSlots})
	}
	c.kill(4_000_001)
	var out bytes.Buffer
	v := newLive(&out, terminal.Painter{On: true}, plan, tl, c, strings.Repeat("a very long description of a server ", 5))
	hostile := failed
	hostile.Error = "\x1b[2J\x1b]52;c;aGk=\a\r\u202e" + strings.Repeat("long ", 50)
	for run := range cyclone.RunID(300) {
		for _, e := range life(plan.Start, run+1, "send_email", enqueued, claimed, hostile) {
			v.event(e, tl.add(e))
		}
	}
	for _, ch := range chapters {
		out.Reset()
		v.chapter(ch)
		frame := sequence.ReplaceAllString(out.String(), "")
		lines := strings.Split(frame, "\r\n")
		if len(lines) > 24 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			if terminal.Width(line) > 80 || terminal.Clean(line) != line {
				t.Errorf("%d columns: %q", terminal.Width(line), line)
			}
		}
		if !strings.Contains(frame, strings.Fields(ch.text)[0]) || !strings.Contains(frame, "killed with kill -9") {
			t.Errorf("\n%s", frame)
		}
	}
	out.Reset()
	v.close()
	v.close()
	if out.String() != terminal.LeaveScreen {
		t.Errorf("%q", out.String())
	}
}

// Bursts of snoozes share a line; other events have one each.
func TestPlainJoinsSnoozes(t *testing.T) {
	t.Parallel()
	plan := Plan{Start: time.Now(), Length: time.Minute}
	tl := newTally(plan.Start)
	var out bytes.Buffer
	v := &plain{out: &out, plan: plan, tally: tl}
	for run := range cyclone.RunID(5) {
		for _, e := range life(plan.Start, run+1, "sync_contact", enqueued, claimed, snoozed) {
			v.event(e, tl.add(e))
		}
	}
	for _, e := range life(plan.Start, 9, "send_email", enqueued, claimed, failed, claimed, completed) {
		v.event(e, tl.add(e))
	}
	v.close()
	want := "   0.0s  snoozed   sync_contact × 5      over the API's limit, put off for a moment\n" +
		"   0.0s  failed    send_email 9          attempt 1, again in 0µs: no\n" +
		"   0.0s  completed send_email 9          at attempt 1\n"
	if out.String() != want {
		t.Errorf("\n%s\nwant\n%s", out.String(), want)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	p := Plan{Start: time.Now(), Length: 20 * time.Second}
	got, err := DecodePlan(p.Encode())
	if err != nil || !got.Start.Equal(p.Start) || got.Length != p.Length || p.unit() != time.Second {
		t.Errorf("%+v (%v), want %+v", got, err, p)
	}
	for _, bad := range []string{"", "{", "{}", `{"start":"2026-02-03T10:00:00Z","length":1}`} {
		if _, err := DecodePlan(bad); err == nil {
			t.Errorf("%q is a plan", bad)
		}
	}
	last := -1.0
	for _, c := range chapters {
		if c.share <= last || c.share >= 1 {
			t.Errorf("chapter %v after %v", c.share, last)
		}
		last = c.share
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	l := limiter{every: time.Second}
	now := time.Now()
	if wait := l.take(now); wait != 0 {
		t.Errorf("the first call waits %v", wait)
	}
	if wait := l.take(now); wait < time.Second || wait > 5*time.Second {
		t.Errorf("the second call waits %v", wait)
	}
	if wait := l.take(now.Add(time.Second)); wait != 0 {
		t.Errorf("the call a second later waits %v", wait)
	}
}
