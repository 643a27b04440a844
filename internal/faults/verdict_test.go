package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// judge checks what must hold after any faults.
func (c *campaign) judge() {
	c.Helper()
	took := time.Since(c.began)
	if len(c.voyages)+c.unsure+c.refused != c.runs || c.refused > 0 {
		c.Errorf("%d runs were acknowledged, %d are unsure, %d were refused; want %d", len(c.voyages), c.unsure, c.refused, c.runs)
	}
	if !c.lossy {
		c.judgeOutcomes()
		c.judgeCounts()
		c.judgeLedger()
	}
	c.lab.MustAgree()
	report, err := c.client.Audit(context.Background(), queue.AuditOptions{})
	if err != nil || len(report.Findings) > 0 {
		c.Errorf("Audit: %+v (%v)", report.Findings, err)
	}
	refused := 0
	for _, p := range c.all() {
		refused += p.said("settlement refused")
	}
	c.Logf("%d runs with %d steps in %v: %d executions, %d leases lost, %d results refused; %d recorded steps, %d of them replayed, %d journals looked at, %d with a part; "+
		"%d workers killed, %d frozen, %d times all scripts flushed, %d times the server killed, %d calls cut",
		len(c.voyages), c.total("completed"), took.Round(time.Millisecond), c.ledger.executions(), c.total("lost"), refused, c.ledger.count("have", false),
		c.ledger.count("have", true), c.looks.all, c.looks.partial, c.kills, len(c.zombies), c.flushes, c.servers, c.hits)
	c.judgeRetention()
}

// judgeOutcomes checks that each run has completed, with the result that it must have.
func (c *campaign) judgeOutcomes() {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for id, v := range c.voyages {
		if out, err := cyclone.AttachOf[int](c.client, id).Wait(ctx); err != nil || out != v.want {
			c.Errorf("run %v returned %d (%v), want %d", id, out, err, v.want)
		}
	}
}

// judgeCounts checks that each step has completed once, by the server's counters and
// by what completions wrote.
func (c *campaign) judgeCounts() {
	c.Helper()
	want, silent := 0, 0
	for _, v := range c.voyages {
		want += v.completions()
		silent += v.silent
	}
	completed := c.total("completed")
	if completed < want || c.unsure == 0 && completed != want || c.total("discarded")+c.total("cancelled") != 0 {
		c.Errorf("%d steps completed, %d discarded and %d cancelled; want %d completed", completed, c.total("discarded"), c.total("cancelled"), want)
	}
	effects, err := c.lab.Redis.LRange(context.Background(), effectsOf(c.server.Prefix), 0, -1).Result()
	if err != nil {
		c.Fatal(err)
	}
	if c.unsure == 0 && len(effects) != want-silent || len(effects) < want-silent {
		c.Errorf("%d completions had an effect, want %d", len(effects), want-silent)
	}
	slices.Sort(effects)
	for i := 1; i < len(effects); i++ {
		if effects[i] == effects[i-1] {
			c.Errorf("the completion of %s had its effect twice", effects[i])
		}
	}
}

// judgeLedger checks what the handlers have seen.
func (c *campaign) judgeLedger() {
	c.Helper()
	for id, v := range c.voyages {
		nodes := make(map[string][]entry)
		for _, e := range c.ledger.of(id) {
			nodes[e.Node] = append(nodes[e.Node], e)
		}
		for node, parents := range v.parents {
			if err := checkEnds(nodes[node]); err != nil {
				c.Errorf("run %v, node %s: %v", id, node, err)
				continue
			}
			for _, parent := range parents {
				if firstOf(nodes[node], "start").Before(firstOf(nodes[parent], "end")) {
					c.Errorf("run %v: node %s was entered before %s had ended", id, node, parent)
				}
			}
			if !slices.Contains(v.tasks, node) {
				continue
			}
			if err := checkRecords(nodes[node], c.zombies); err != nil {
				c.Errorf("run %v, task %s: %v", id, node, err)
			}
		}
	}
}

// firstOf is when something first happened without an error.
func firstOf(all []entry, event string) time.Time {
	for _, e := range all {
		if e.Event == event && e.Error == "" {
			return e.At
		}
	}
	return time.Time{}
}

// checkEnds returns what is wrong with the attempts of a step that has completed.
func checkEnds(all []entry) error {
	last := 0
	for _, e := range all {
		if e.Event != "start" {
			continue
		}
		if e.Attempt < max(last-1, 1) {
			return fmt.Errorf("attempt %d was entered after attempt %d", e.Attempt, last)
		}
		last = max(last, e.Attempt)
	}
	if firstOf(all, "end").IsZero() {
		return fmt.Errorf("it has completed, and no handler succeeded: %+v", all)
	}
	return nil
}

// checkRecords returns what is wrong with what a task's executions recorded and
// replayed: each had a contiguous prefix of the steps, what had been recorded before
// it began was not run again, and everyone has read the same. A zombie may have been
// frozen between its look at the records and its beginning.
func checkRecords(all []entry, zombies map[int]bool) error {
	var known [recordedSteps + 1]entry // the first word that a step is recorded
	executions := make(map[string][]entry)
	for _, e := range all {
		if e.Event == "have" {
			first := &known[e.Step]
			if first.Step == 0 {
				*first = e
			}
			if e.Value != first.Value {
				return fmt.Errorf("step %d is %q and %q", e.Step, first.Value, e.Value)
			}
		}
		key := fmt.Sprint(e.pid, " ", e.Execution)
		executions[key] = append(executions[key], e)
	}
	for _, lines := range executions {
		if err := checkExecution(lines, known[:], zombies[lines[0].pid]); err != nil {
			return fmt.Errorf("%w: %+v", err, lines)
		}
	}
	for n := 1; n <= recordedSteps; n++ {
		if known[n].Step == 0 {
			return fmt.Errorf("step %d was never recorded", n)
		}
	}
	return nil
}

func checkExecution(lines, known []entry, zombie bool) error {
	have, ran := 0, 0
	began := lines[0].At
	for _, e := range lines {
		switch e.Event {
		case "ran":
			if e.Step != have+1 {
				return fmt.Errorf("step %d ran after %d were there", e.Step, have)
			}
			if first := known[e.Step]; !zombie && first.Step != 0 && first.At.Before(began) {
				return fmt.Errorf("step %d ran although it had been recorded", e.Step)
			}
			ran = e.Step
		case "have":
			if e.Step != have+1 || e.Replayed == (ran == e.Step) {
				return fmt.Errorf("step %d (replayed: %v) after %d were there", e.Step, e.Replayed, have)
			}
			if e.Replayed && ran > 0 {
				return fmt.Errorf("step %d was replayed after step %d had run", e.Step, ran)
			}
			have = e.Step
		case "end":
			if e.Error == "" && have != recordedSteps {
				return fmt.Errorf("it ended after %d steps", have)
			}
		}
	}
	return nil
}

// judgeRetention lets the time pass for which runs are kept, that for which it is known
// that a child was started, and that after which others take up what was left undone by
// a worker that died in a sweep. Then nothing must be left.
func (c *campaign) judgeRetention() {
	c.Helper()
	ctx := context.Background()
	c.lab.Redis.Del(ctx, effectsOf(c.server.Prefix), "canary")
	for _, name := range []string{"runs", "completed:default", "uniqx", "sweep"} {
		c.age(name)
	}
	keeper := queue.NewStore(c.client, "wkeeper")
	for more := true; more; {
		var err error
		if more, err = keeper.Sweep(ctx, 0); err != nil {
			c.Fatal(err)
		}
	}
	for range 20 { // each tidies some of it, and every fourth one unique keys
		if err := keeper.Maintain(ctx, []string{"default"}, c.lease); err != nil {
			c.Fatal(err)
		}
	}
	left := slices.DeleteFunc(c.lab.Leftovers(), func(text string) bool {
		return strings.Contains(text, ":workers ") || strings.Contains(text, ":waiters:") || strings.Contains(text, ":offers ") || strings.Contains(text, ":subs ")
	})
	if len(left) > 0 {
		c.Errorf("%d entries are left over, the first ones %q", len(left), left[:min(len(left), 20)])
	}
}
