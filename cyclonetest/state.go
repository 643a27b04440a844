package cyclonetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// Handle is a run's handle: a [cyclone.Run] or a [cyclone.RunOf]. For an id, use
// [cyclone.Attach].
type Handle interface{ ID() cyclone.RunID }

// RequireState fails the test at once unless the run's step is in the given state
// now. It does not wait. The failure tells the last error and what has happened to
// the step.
//
// A run of which nothing is kept counts as completed: by default nothing is kept of
// an action that has completed.
func RequireState(t testing.TB, client *queue.Client, run Handle, want cyclone.StepState) {
	t.Helper()
	steps, err := client.ListSteps(t.Context(), run.ID())
	switch {
	case errors.Is(err, cyclone.ErrNotFound) && want == cyclone.StepCompleted:
		return
	case err != nil:
		t.Fatalf("run %v: want %s: %v", run.ID(), want, err)
	}
	for _, step := range steps {
		if step.State != want {
			t.Fatalf("run %v: %s is %s, want %s%s", run.ID(), step.Node, step.State, want, story(t, client, step))
		}
	}
}

// story tells what is known of a step that is not where it should be.
func story(t testing.TB, client *queue.Client, step cyclone.StepInfo) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "\n  attempts: %d", step.Attempts)
	if step.Error != "" {
		fmt.Fprintf(&b, "\n  error: %s (%s)", step.Error, step.Code)
	}
	detail, err := client.Step(t.Context(), step.RunID, step.Node)
	if err != nil {
		return b.String()
	}
	for _, entry := range detail.History {
		fmt.Fprintf(&b, "\n  %s %s, attempt %d", entry.At.Format("15:04:05.000"), entry.Type, entry.Attempt)
		if text := cmp.Or(entry.Error, entry.Reason); text != "" {
			fmt.Fprintf(&b, ": %s", text)
		}
	}
	return b.String()
}

// list returns all steps in the given states, in the order of their ids.
func list(t testing.TB, client *queue.Client, states ...cyclone.StepState) []cyclone.StepInfo {
	t.Helper()
	var all []cyclone.StepInfo
	for _, state := range states {
		for cursor := ""; ; {
			page, err := client.List(t.Context(), queue.ListQuery{State: state, Cursor: cursor})
			if err != nil {
				t.Fatalf("cyclonetest: %v", err)
			}
			all = append(all, page.Steps...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b cyclone.StepInfo) int { return cmp.Compare(a.RunID, b.RunID) })
	return slices.CompactFunc(all, func(a, b cyclone.StepInfo) bool { return a.RunID == b.RunID && a.Node == b.Node })
}
