package faultproxy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
)

// Always is the [Rule.Times] that hits every call from [Rule.Nth] on.
const Always = -1

// Rule says which calls are hit, and by what.
type Rule struct {
	Command string  // name of the command in any case; "" is every command
	Script  string  // SHA1 of a script, called by EVALSHA or EVAL; "" is any
	Nth     int     // number of the first matching call that is hit, from 1; 0 means 1
	Times   int     // how many calls are hit from there on; 0 means 1
	Chance  float64 // between 0 and 1: those calls are hit with this chance; 0 means all
	Seed    uint64  // decides the chance together with the number of the call
	Fault   Fault
}

// Active is a rule at work.
type Active struct {
	rule    Rule
	proxy   *Proxy
	matched int // guarded by proxy.mu
	hits    atomic.Int64
	first   chan struct{}
}

// Add puts a rule to work. Of several rules that hit one call the oldest wins;
// each counts the calls that it matches.
func (p *Proxy) Add(r Rule) *Active {
	r.Nth, r.Script = max(r.Nth, 1), strings.ToLower(r.Script)
	if r.Times == 0 {
		r.Times = 1
	}
	a := &Active{rule: r, proxy: p, first: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, a)
	return a
}

// Hits returns how many calls were hit so far.
func (a *Active) Hits() int { return int(a.hits.Load()) }

// Hit is closed when the first call is hit, before the fault takes effect.
func (a *Active) Hit() <-chan struct{} { return a.first }

// Remove takes the rule away; calls that were hit stay hit.
func (a *Active) Remove() {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	a.proxy.rules = slices.DeleteFunc(a.proxy.rules, func(b *Active) bool { return a == b })
}

// decide returns the fault for a call.
func (p *Proxy) decide(c call) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var fault Fault
	decided := false
	for _, a := range p.rules {
		if !a.counts(c) || decided {
			continue
		}
		if a.hits.Add(1) == 1 {
			close(a.first)
		}
		fault, decided = a.rule.Fault, true
	}
	return fault
}

// counts counts a call that matches and reports whether its number is one to
// hit.
func (a *Active) counts(c call) bool {
	r := a.rule
	if r.Command != "" && !strings.EqualFold(r.Command, c.command) || r.Script != "" && r.Script != c.script {
		return false
	}
	a.matched++
	n := a.matched
	if n < r.Nth || r.Times != Always && n >= r.Nth+r.Times {
		return false
	}
	return r.Chance == 0 || rand.New(rand.NewPCG(r.Seed, uint64(n))).Float64() < r.Chance
}
