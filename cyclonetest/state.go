package cyclonetest

import (
	"cmp"
	"context"
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

// RequireRun fails the test at once unless the run is in the given state now; a run
// of one step is as its step is. The failure tells where its steps stand.
//
// A run of which nothing is kept counts as completed, as for [RequireState].
func RequireRun(t testing.TB, client *queue.Client, run Handle, want cyclone.RunState) {
	t.Helper()
	info, err := client.GetRun(t.Context(), run.ID())
	switch {
	case errors.Is(err, cyclone.ErrNotFound) && want == cyclone.RunCompleted:
	case err != nil:
		t.Fatalf("run %v: want %s: %v", run.ID(), want, err)
	case info.State != want:
		t.Fatalf("run %v is %s, want %s%s", run.ID(), info.State, want, sight(info.Steps))
	}
}

// RequireNode is [RequireState] for one node of a workflow's run.
func RequireNode(t testing.TB, client *queue.Client, run Handle, node string, want cyclone.StepState) {
	t.Helper()
	steps, err := client.ListSteps(t.Context(), run.ID())
	if err != nil {
		t.Fatalf("run %v: %s: want %s: %v", run.ID(), node, want, err)
	}
	i := slices.IndexFunc(steps, func(s cyclone.StepInfo) bool { return s.Node == node })
	if i < 0 {
		t.Fatalf("run %v has no node %s%s", run.ID(), node, sight(steps))
	}
	if s := steps[i]; s.State != want {
		t.Fatalf("run %v: %s is %s, want %s%s", run.ID(), node, s.State, want, story(t, client, s))
	}
}

// sight tells where the steps of a run stand.
func sight(steps []cyclone.StepInfo) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "\n  %s: %s", s.Node, s.State)
		if s.Error != "" {
			fmt.Fprintf(&b, ": %s (%s)", s.Error, s.Code)
		}
	}
	return b.String()
}

// RequireState fails the test at once unless the run's step, or each of its steps, is
// in the given state now. It does not wait. The failure tells the last error and what
// has happened to the step.
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
func list(ctx context.Context, t testing.TB, client *queue.Client, states ...cyclone.StepState) []cyclone.StepInfo {
	t.Helper()
	var all []cyclone.StepInfo
	for _, state := range states {
		for cursor := ""; ; {
			page, err := client.List(ctx, queue.ListQuery{State: state, Cursor: cursor})
			if err != nil {
				t.Fatalf("cyclonetest: %v", err)
			}
			all = append(all, page.Steps...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b cyclone.StepInfo) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Node, b.Node))
	})
	return slices.CompactFunc(all, func(a, b cyclone.StepInfo) bool { return a.RunID == b.RunID && a.Node == b.Node })
}
