package queue

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

func TestMessagesSayWhatHappened(t *testing.T) {
	t.Parallel()
	at, due := timeOf(1000), timeOf(5000)
	var d detail
	d.add("mail", "node", 3, "error", "boom")
	d.add("mail", "mail", 1, "expired", "too late")
	details := string(d.bytes())
	for line, want := range map[string]cyclone.StepEvent{
		"enqueued q 7 - 0":           {Type: cyclone.EventEnqueued, State: cyclone.StepReady},
		"enqueued q 7 - 5000":        {Type: cyclone.EventEnqueued, State: cyclone.StepScheduled, DueAt: due},
		"claimed q 7 - 0":            {Type: cyclone.EventClaimed, State: cyclone.StepRunning},
		"completed q 7 - 0":          {Type: cyclone.EventCompleted, State: cyclone.StepCompleted},
		"failed q 7 0 5000":          {Type: cyclone.EventFailed, State: cyclone.StepRetrying, Kind: "mail", Node: "node", Attempt: 3, Code: "error", Error: "boom", DueAt: due},
		"discarded q 7 0 0":          {Type: cyclone.EventFailed, State: cyclone.StepExhausted, Kind: "mail", Node: "node", Attempt: 3, Code: "error", Error: "boom"},
		"discarded q 7 1 0":          {Type: cyclone.EventDiscarded, State: cyclone.StepExhausted, Kind: "mail", Node: "mail", Attempt: 1, Code: "expired", Error: "too late"},
		"snoozed q 7 - 5000":         {Type: cyclone.EventSnoozed, State: cyclone.StepSnoozed, DueAt: due},
		"released q 7 - 0":           {Type: cyclone.EventReleased, State: cyclone.StepReady},
		"released q 7 - 5000":        {Type: cyclone.EventReleased, State: cyclone.StepScheduled, DueAt: due},
		"lost q 7 - 0 w9.TOKEN":      {Type: cyclone.EventLost, State: cyclone.StepReady, Worker: "w9"},
		"lost q 7 - 5000 w9.TOKEN":   {Type: cyclone.EventLost, State: cyclone.StepRetrying, DueAt: due, Worker: "w9"},
		"cancelled q 7 99 0":         {Type: cyclone.EventCancelled, State: cyclone.StepCancelled}, // no such details
		"retried q 7 - 0":            {Type: cyclone.EventRetried, State: cyclone.StepReady},
		"promoted q 7 - 0":           {Type: cyclone.EventPromoted, State: cyclone.StepReady},
		"rescheduled q 7 - 5000":     {Type: cyclone.EventRescheduled, State: cyclone.StepScheduled, DueAt: due},
		"deleted q 7 - 0":            {Type: cyclone.EventDeleted},
		"from a later version q 7 -": {},
		"unheard-of q 7 - 0":         {},
		"failed q seven - 0":         {},
		"failed q 7 -1 0":            {},
		"failed q 7 x 0":             {},
	} {
		m, ok := parseMessage("1000 w1\n" + line + "\n\n" + details)
		if !ok {
			t.Fatalf("%q: not a message", line)
		}
		var got cyclone.StepEvent
		l, ok := parseEventLine(m.lines)
		if ok {
			got, ok = m.event(&l, decodeDetail(m.details))
		}
		if want.Type == "" {
			if ok {
				t.Errorf("%q is read as %+v", line, got)
			}
			continue
		}
		want.RunID, want.Queue, want.At = 7, "q", at
		if want.Worker == "" {
			want.Worker = "w1"
		}
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// FuzzMessage: whoever may publish can send anything.
func FuzzMessage(f *testing.F) {
	var d detail
	d.add("mail", "node", 3, "error", "boom")
	f.Add("1000 w1\nfailed q 7 0 5000\n\n" + string(d.bytes()))
	f.Add("1000\nlost q 7 - 0 w.t\nclaimed q 8 - 0\n\n")
	f.Add("\n\n")
	f.Add("1\nfailed q 9223372036854775808 0 0\n\n\xdd\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := parseMessage(text)
		if !ok {
			return
		}
		details := decodeDetail(m.details)
		if len(details) > len(m.details) {
			t.Fatalf("%d details from %d bytes", len(details), len(m.details))
		}
		if l, ok := parseEventLine(m.lines); ok {
			m.event(&l, details)
		}
	})
}

// FuzzCursor: a cursor comes back from outside.
func FuzzCursor(f *testing.F) {
	w := walk{places: []place{{Queue: "default", State: cyclone.StepRunning, Part: 3}}, at: position{Score: 7, Member: "1:w.x"}}
	f.Add(w.cursor())
	f.Add("e30")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		here, at, err := parseCursor(text)
		if err != nil {
			return
		}
		again, same, err := parseCursor((&walk{places: []place{here}, at: at}).cursor())
		if err != nil || again != here || same != at {
			t.Fatalf("%+v %+v came back as %+v %+v, %v", here, at, again, same, err)
		}
	})
}
