package faults_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/internal/faultproxy"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// F-20: the reply of each script is lost after its execution, at each of its
// first calls. What comes of a whole story is the same as without the fault,
// whether the user's client sends again by itself or not.
func TestLostReplyOfEachScript(t *testing.T) {
	t.Parallel()
	server := testserver.Real(t)
	want, wantRuns := tell(t, server.Addr(), "undisturbed", 0), tellRuns(t, server.Addr(), "undisturbed-runs", 0)
	if t.Failed() {
		t.Fatal(want, wantRuns)
	}
	t.Run("scripts", func(t *testing.T) {
		for _, script := range luascripts.All() {
			tell, want := tell, want
			if slices.Contains(runScripts, script) {
				tell, want = tellRuns, wantRuns
			}
			for position := 1; position <= *deep; position++ {
				t.Run(fmt.Sprintf("%s/%d", script.Name, position), func(t *testing.T) {
					t.Parallel()
					proxy, err := faultproxy.Start(server.Addr())
					if err != nil {
						t.Fatal(err)
					}
					defer proxy.Close()
					fault, retries := faultproxy.DropReply(), -1 // go-redis: none
					if position%2 == 0 {
						fault, retries = faultproxy.CutReply(3), 3
					}
					rule := proxy.Add(faultproxy.Rule{Script: script.SHA, Nth: position, Fault: fault})
					got := tell(t, proxy.Addr(), fmt.Sprintf("%s-%d", script.Name, position), retries)
					if rule.Hits() == 0 {
						if position > 1 { // sessions are opened as they are needed
							t.Skipf("the story has no call %d of this script", position)
						}
						t.Fatal("the story does not use this script")
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("(-undisturbed +disturbed)\n%s", diff)
					}
				})
			}
		}
	})
}
