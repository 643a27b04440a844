package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Audit returns everything in the storage that does not agree with itself: each
// step is in exactly one index, what stands beside bodies belongs to one, and
// unique keys and their holders know each other.
func (l *Lab) Audit() []string {
	l.Helper()
	var findings []string
	for _, base := range l.partitions() {
		a := &audit{lab: l, base: base, places: make(map[string][]membership)}
		a.run()
		findings = append(findings, a.findings...)
	}
	slices.Sort(findings)
	return findings
}

// MustAgree fails the test when Audit finds anything.
func (l *Lab) MustAgree() {
	l.Helper()
	if findings := l.Audit(); len(findings) > 0 {
		l.Errorf("audit:\n%s", strings.Join(findings, "\n"))
	}
}

type audit struct {
	lab      *Lab
	base     string
	bodies   map[string]string
	places   map[string][]membership
	ghosts   map[string]bool
	runs     map[string]*ManySteps
	findings []string
}

func (a *audit) hash(name string) map[string]string {
	return a.lab.Redis.HGetAll(context.Background(), a.base+name).Val()
}

func (a *audit) find(format string, args ...any) {
	a.findings = append(a.findings, a.base+": "+fmt.Sprintf(format, args...))
}

func (a *audit) run() {
	a.bodies = a.hash("steps")
	a.ghosts = make(map[string]bool)
	for _, m := range a.lab.memberships(a.base) {
		if m.dropped {
			a.ghosts[m.id] = true
			continue
		}
		a.places[m.id] = append(a.places[m.id], m)
		if _, ok := a.bodies[m.id]; !ok {
			a.find("%s has run %s, which has no body", m.key, m.id)
		}
	}
	a.readRuns()
	for id := range a.bodies {
		if a.runs[id] != nil || strings.Contains(id, ".") {
			continue
		}
		if n := len(a.places[id]); n != 1 {
			a.find("run %s is in %d indexes: %v", id, n, a.places[id])
		}
	}
	a.auditRuns()
	a.sides()
	a.unique()
}

// sides are the tables beside the bodies.
func (a *audit) sides() {
	for id, mark := range a.hash("ghosts") {
		requeued := strings.HasPrefix(mark, "r") && len(a.places[id]) == 1
		if !a.ghosts[id] && !requeued {
			a.find("ghost of run %s (%s), which is in no list", id, mark)
		}
	}
	for _, name := range []string{"tries", "history", "results"} {
		for id := range a.hash(name) {
			if _, ok := a.bodies[id]; !ok && !a.completedNode(id) {
				a.find("%s of run %s, which has no body", name, id)
			}
		}
	}
	for id := range a.hash("results") {
		if places := a.places[id]; len(places) == 1 && places[0].state != cyclone.StepCompleted {
			a.find("result of run %s, which is %s", id, places[0].state)
		}
	}
}

func (a *audit) unique() {
	holders, of := a.hash("uniq"), a.hash("uniqof")
	ends := make(map[string]time.Time)
	for _, z := range a.lab.zset(a.base + "uniqx") {
		ends[z.Member.(string)] = time.UnixMilli(int64(z.Score))
	}
	for digest, id := range holders {
		mark := of[id]
		if mark == "" || mark[1:] != digest {
			a.find("unique key %s is held by run %s, which does not know it (%q)", digest, id, mark)
			continue
		}
		places := a.places[id]
		unfinished := len(places) == 1 && !places[0].state.Finished()
		if run := a.runs[id]; run != nil {
			unfinished = !run.State.Finished()
		}
		byTime := mark[0] == 'd' || mark[0] == 'r'
		if !byTime && !unfinished {
			a.find("unique key %s is held by run %s, which is finished", digest, id)
		}
		if byTime == ends[digest].IsZero() {
			a.find("unique key %s of run %s (%c) and its end (%v) do not agree", digest, id, mark[0], ends[digest])
		}
	}
	for id, mark := range of {
		if holders[mark[1:]] != id {
			a.find("run %s believes to hold unique key %s", id, mark[1:])
		}
	}
	for digest, end := range ends {
		if holders[digest] == "" && time.Until(end) < -time.Hour { // until then it waits to be tidied
			a.find("unique key %s has an end and no holder", digest)
		}
	}
}
