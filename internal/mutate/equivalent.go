package main

import (
	"fmt"
	"strings"
)

// equivalent is a change that no test can notice.
type equivalent struct {
	file, line, change string // as mutant shows them
	why                string
}

// equivalents is the list with a note of which entries a change was found for.
type equivalents struct{ used []bool }

func newEquivalents() *equivalents { return &equivalents{make([]bool, len(list))} }

func (e *equivalents) has(m *mutant) bool {
	_, line := m.line()
	found := false
	for i, q := range list {
		if q.file == m.file && q.line == line && q.change == m.change() {
			e.used[i], found = true, true
		}
	}
	return found
}

// unused returns an error that names the entries for which no change was found.
func (e *equivalents) unused() error {
	var stale []string
	for i, used := range e.used {
		if !used {
			stale = append(stale, list[i].file+": "+list[i].line+": "+list[i].change)
		}
	}
	if stale == nil {
		return nil
	}
	return fmt.Errorf("equivalent.go lists what is not in the sources:\n%s", strings.Join(stale, "\n"))
}

var list = []equivalent{
	{"enqueue.lua",
		"if digest ~= '' then",
		"condition: digest ~= '' -> true",
		"spares a look-up for a digest that nobody holds"},
	{"revive.lua",
		"if digest ~= '' then",
		"condition: digest ~= '' -> true",
		"spares a look-up for a digest that nobody holds"},
	{"enqueue.lua",
		"local alone = n == 1 and ngroups == 1 and nitems == 0 and listened and #ARGV[first + 1] <= HAND_OVER_BYTES",
		"operand: listened -> true",
		"spares a look-up where nobody is in line"},
	{"enqueue.lua",
		"if listened then",
		"condition: listened -> true",
		"spares a look-up where nobody is in line"},
	{"lib/fence.lua",
		"local haunted = #items > 0 and redis.call('EXISTS', ghosts) == 1",
		"operand: redis.call('EXISTS', ghosts) == 1 -> true",
		"spares a look-up where there are no ghosts"},
	{"record.lua",
		"local marks = haunted and redis.call('HMGET', ghosts, unpack(ARGV, cursor + m + 1, cursor + 2 * m)) or {}",
		"operand: haunted -> true",
		"spares a look-up where there are no ghosts"},
	{"build.lua",
		"if phase == 'c' then",
		"condition: phase == 'c' -> true",
		"spares removing what is not there"},
	{"sweep.lua",
		"if take > 0 then",
		"condition: take > 0 -> true",
		"spares asking for none"},
	{"sweep.lua",
		"if take > 0 then",
		"bound: > -> >=",
		"spares asking for none"},
	{"lib/session.lua",
		"if seq < last then",
		"bound: < -> <=",
		"equal numbers have been replayed before"},
	{"turn.lua",
		"if redis.call('EXISTS', ghosts, tries, uniqof, history, subs, paused, sweep, offers, handed) > 0 then",
		"condition: redis.call('EXISTS', ghosts, tries, uniqof, history, subs, paused, sweep, offers, handed) > 0 -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"if redis.call('EXISTS', ghosts, tries, uniqof, history, subs, paused, sweep, offers, handed) > 0 then",
		"bound: > -> >=",
		"spares looking at tables that are empty"},
	{"lib/settle.lua",
		"if has_tries then",
		"condition: has_tries -> true",
		"spares looking at tables that are empty"},
	{"lib/settle.lua",
		"if has_history then",
		"condition: has_history -> true",
		"spares looking at tables that are empty"},
	{"lib/fenced.lua",
		"if has_ghosts then",
		"condition: has_ghosts -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"if claimed > 0 and has_unique then",
		"operand: has_unique -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"local counters = claimed > 0 and has_tries and counters_of(members) or {}",
		"operand: has_tries -> true",
		"spares looking at tables that are empty"},
	{"lib/settle.lua",
		"if TERMINAL[op] and has_unique then",
		"operand: has_unique -> true",
		"spares looking at tables that are empty"},
	{"lib/claim.lua",
		"local marks = has_ghosts and redis.call('HMGET', ghosts, unpack(ids)) or {}",
		"operand: has_ghosts -> true",
		"spares looking at tables that are empty"},
	{"lib/claim.lua",
		"local ids = want > 0 and not (some_paused and redis.call('HEXISTS', paused, queue_name(q)) == 1)",
		"operand: some_paused -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"local first_work = has_sweep and redis.call('ZRANGE', sweep, 0, 0, 'WITHSCORES')[2]",
		"operand: has_sweep -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"if redis.call('EXISTS', queue_key(q, SCHEDULED), queue_key(q, RETRYING), queue_key(q, SNOOZED), queue_key(q, WAITING)) > 0 then",
		"condition: redis.call('EXISTS', queue_key(q, SCHEDULED), queue_key(q, RETRYING), queue_key(q, SNOOZED), queue_key(q, WAITING)) > 0 -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"if redis.call('EXISTS', queue_key(q, SCHEDULED), queue_key(q, RETRYING), queue_key(q, SNOOZED), queue_key(q, WAITING)) > 0 then",
		"bound: > -> >=",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"if claimed >= wanted then",
		"condition: claimed >= wanted -> false",
		"a shorter way to the same end"},
	{"turn.lua",
		"if claimed >= wanted then",
		"bound: >= -> >",
		"a shorter way to the same end"},
	{"lib/serve.lua",
		"if at > now then",
		"condition: at > now -> false",
		"spares looking at tables that are empty"},
	{"lib/claim.lua",
		"if marks[i] then",
		"condition: marks[i] -> true",
		"spares removing what is not there"},
	{"lib/fenced.lua",
		"if not bad then",
		"condition: not bad -> false",
		"a shorter way to the same end"},
	{"lib/settle.lua",
		"if op == 'c' and not (watched or has_unique or has_tries or has_history) then",
		"condition: op == 'c' and not (watched or has_unique or has_tries or has_history) -> false",
		"a shorter way to the same end"},
	{"turn.lua",
		"return {0, now, lost, claims, counters, next_due, rank, more, watched and 1 or 0, sweep_due, delivered, reaped}",
		"operand: 1 -> true",
		"true is sent as 1, false as nil, which reads as 0"},
	{"turn.lua",
		"return {0, now, lost, claims, counters, next_due, rank, more, watched and 1 or 0, sweep_due, delivered, reaped}",
		"operand: 0 -> false",
		"true is sent as 1, false as nil, which reads as 0"},
	{"lib/line.lua",
		"if line > 0 and (delayed[q] and room[q] <= 0",
		"operand: line > 0 -> true",
		"wake looks at an empty line itself"},
	{"lib/line.lua",
		"if line > 0 and (delayed[q] and room[q] <= 0",
		"bound: > -> >=",
		"wake looks at an empty line itself"},
	{"lib/line.lua",
		"if line > 0 then -- Those who died in line are in front of nobody.",
		"condition: line > 0 -> true",
		"spares looking at an empty line"},
	{"lib/line.lua",
		"if line > 0 then -- Those who died in line are in front of nobody.",
		"bound: > -> >=",
		"spares looking at an empty line"},
	{"lib/end_node.lua",
		"if haunted and redis.call('HEXISTS', ghosts, id) == 1 then",
		"operand: haunted -> true",
		"spares looking at tables that are empty"},
	{"sweep.lua",
		"if watched then",
		"condition: watched -> true",
		"spares lines that nobody is sent"},
	{"purge.lua",
		"local popped = #ARGV >= IDS and redis.call('RPOP', index, #ARGV - IDS + 1) or {}",
		"operand: #ARGV >= IDS -> true",
		"spares taking none off the list"},
	{"turn.lua",
		"if some_handed then",
		"condition: some_handed -> true",
		"spares looking at tables that are empty"},
	{"lib/reap.lua",
		"if some_handed then -- A worker that died does not ask for it any more.",
		"condition: some_handed -> true",
		"spares looking at tables that are empty"},
	{"turn.lua",
		"local counters = claimed > 0 and has_tries and counters_of(members) or {}",
		"operand: {} -> false",
		"false is sent as nil, which reads as none"},
	{"lib/retell.lua",
		"local counters = #members > 0 and counters_of(members) or {}",
		"operand: {} -> false",
		"false is sent as nil, which reads as none"},
	{"enqueue.lua",
		"local listened = nq ~= 1 or redis.call('EXISTS', subs, queue_key(1, WAITERS)) > 0",
		"bound: > -> >=",
		"spares a look-up where nobody is in line"},
	{"enqueue.lua",
		"local watched = listened and redis.call('EXISTS', subs) == 1",
		"operand: listened -> true",
		"spares a look-up where nobody listens"},
	{"advance.lua",
		"if redis.call('EXISTS', tries, history) > 0 then",
		"condition: redis.call('EXISTS', tries, history) > 0 -> true",
		"spares looking at tables that are empty"},
	{"advance.lua",
		"if redis.call('EXISTS', tries, history) > 0 then",
		"bound: > -> >=",
		"spares looking at tables that are empty"},
}
