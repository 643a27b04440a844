-- turn: settles finished attempts, takes back expired leases, promotes due steps and claims ready ones:
-- a worker's whole loop turn for one partition in one round trip.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs paused sweep offers handed
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- ARGV: lane, seq = session; worker = worker id; token = of this claim; lease_ms; wait_ms = life of a new
--   registration among the waiters (0: do not register); wanted = steps to claim in all;
--   budget = ids to take back and promote in all; wake = channel prefix; events = channel; partition; detail = event details;
--   offer = a step may be handed over to a slot of this worker while it stands in line 0/1; got = 'id:token' of the one that
--   was and has arrived, or '';
--   nq, then nq queue names, then per queue the steps to claim at the most (0: do not stand in line for it);
--   nclaims, then per claim, in order of preference: queue index, lane index (1-3), count at the most;
--   ngroups, then per group: queue index, operation, n, n x ('0', 'id:token'), n x id, then per operation
--     c complete, keep nothing
--     k complete, keep          n x (keep-until ms, id), n x (id, result)
--     r retry, s snooze         n x (delay ms, lane index, body)
--     d discard                 n x (body)
--     g give back unstarted     n x (lane index)
--     i release interrupted     n x (lane index)
--     w put back later          n x (delay ms, lane index)
-- RETURNS: {0, now ms, lost {member, reason 'lost' or 'cancelled', ...}, claims {{queue index, lane index, 'id id ...', bodies}, ...},
--   tries {id, counters, ...}, ms until the next due step, expiring lease or work of the sweep or -1, waiters before this one,
--   more 0/1, watched 0/1, the sweep has work 0/1, what was handed over and has not arrived {queue index, lane index, id,
--   token, expiry ms, body} or {}, events of the leases that were taken back, as lines}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
local FIXED = 14
--@include clock
--@include session
--@include wake
--@include unique
--@include tries
--@include stats
--@include queues
--@include dispose
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, paused, sweep = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local offers, handed = KEYS[13], KEYS[14]
local lane, seq, worker, token = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local lease_ms, wait_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
local wanted, budget = tonumber(ARGV[7]), tonumber(ARGV[8])
local wake_channel, events, partition, detail = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local offer, got, nq = ARGV[13] == '1', ARGV[14], tonumber(ARGV[15])
local NAMES = 15 -- the queues' names come behind
-- PAD keeps the lease set out of its O(n) compact encoding; it sorts behind every lease.
local PAD = string.rep('.', 65)

local function queue_name(q)
  return ARGV[NAMES + q]
end

local now = now_ms()
--@include counters
--@include delivery
--@include retell

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  return retell(replay)
end
if state ~= APPLY then
  return {state}
end

-- Write. A worker that asks is no longer waiting. This first write needs no memory, which lets the rest run at
-- maxmemory: the backlog drains.
redis.call('ZREM', queue_key(1, WAITERS), worker)
for q = 2, nq do
  redis.call('ZREM', queue_key(q, WAITERS), worker)
end
local has_ghosts, has_tries, has_unique, has_history = false, false, false, false
local watched, some_paused, has_sweep, some_handed = false, false, false, false
if redis.call('EXISTS', ghosts, tries, uniqof, history, subs, paused, sweep, offers, handed) > 0 then
  has_ghosts = redis.call('EXISTS', ghosts) == 1
  has_tries = redis.call('EXISTS', tries) == 1
  has_unique = redis.call('EXISTS', uniqof) == 1
  has_history = redis.call('EXISTS', history) == 1
  watched = redis.call('EXISTS', subs) == 1
  some_paused = redis.call('EXISTS', paused) == 1
  has_sweep = redis.call('EXISTS', sweep) == 1
  some_handed = redis.call('EXISTS', handed) == 1
  redis.call('HDEL', offers, worker)
end
local handed_over, delivered = '', {}
if some_handed then
  handed_over = redis.call('HGET', handed, worker) or ''
  redis.call('HDEL', handed, worker)
  local id, by = string.match(handed_over, '^%d (%S+) (%S+) ')
  if id and id .. ':' .. by == got then
    handed_over = ''
  end
  delivered = delivery(handed_over)
end
local lines, index = {}, 0

local function event(verb, q, id, detail_index, due)
  lines[#lines + 1] = verb .. ' ' .. queue_name(q) .. ' ' .. id .. ' ' .. detail_index .. ' ' .. due
end

local nclaims_at = NAMES + 1 + 2 * nq
local nclaims = tonumber(ARGV[nclaims_at])
local cursor = nclaims_at + 3 * nclaims + 1
local ngroups = tonumber(ARGV[cursor])
cursor = cursor + 1
local lost = {}
local delayed = {} -- queues in which a step waits for its time from now on

--@include fenced
--@include apply
--@include settle

for _ = 1, ngroups do
  local q, op, n = tonumber(ARGV[cursor]), ARGV[cursor + 1], tonumber(ARGV[cursor + 2])
  local done = settle(q, op, n, cursor + 3)
  if done > 0 then
    count(stats, now, VERB[op], done)
  end
  index = index + n
  cursor = cursor + 3 + (3 + WIDTH[op]) * n
end

-- Take back expired leases and promote what is due.
local due_limit = score(now * 16 + 15)
local more, reaped = 0, {}

--@include reap
--@include promote
--@include serve

local soonest = math.huge
for q = 1, nq do
  soonest = math.min(soonest, serve(q, LEASED, reap))
  if redis.call('EXISTS', queue_key(q, SCHEDULED), queue_key(q, RETRYING), queue_key(q, SNOOZED), queue_key(q, WAITING)) > 0 then
    for offset = SCHEDULED, WAITING do
      soonest = math.min(soonest, serve(q, offset, promote))
    end
  end
end
local sweep_due = 0
local first_work = has_sweep and redis.call('ZRANGE', sweep, 0, 0, 'WITHSCORES')[2]
if first_work then
  if tonumber(first_work) <= now then
    sweep_due = 1
  else
    soonest = math.min(soonest, tonumber(first_work))
  end
end

-- Claim.
local claims, claimed, stored, members, room = {}, 0, {}, {}, {}
for q = 1, nq do
  room[q] = tonumber(ARGV[NAMES + nq + q])
end
if delivered[1] then
  wanted, room[delivered[1]] = wanted - 1, room[delivered[1]] - 1
end
--@include claim

for c = 0, nclaims - 1 do
  if claimed >= wanted then
    break
  end
  local base = nclaims_at + 1 + 3 * c
  claim(tonumber(ARGV[base]), tonumber(ARGV[base + 1]), tonumber(ARGV[base + 2]))
end
local counters = claimed > 0 and has_tries and counters_of(members) or {}
if claimed > 0 and has_unique then
  begin_holding(members)
end
if (wanted > 0 or delivered[1]) and claimed >= wanted then
  more = 1
end

-- Wake a peer for what is left, or stand in line.
local rank, in_line = 0, false
--@include line

for q = 1, nq do
  local line = redis.call('ZCARD', queue_key(q, WAITERS))
  wake_peer(q, line)
  if wait_ms > 0 and more == 0 and room[q] > 0 then
    stand_in_line(q, line)
  end
end
if in_line and rank == 0 then -- Nobody else is in line: other offers are of workers that died.
  redis.call('DEL', offers)
end
if in_line and offer and wanted > claimed then
  redis.call('HSET', offers, worker, token .. ' ' .. ARGV[5])
end
if claimed > 0 then
  soonest = math.min(soonest, now + lease_ms)
end
local next_due = soonest < math.huge and math.max(soonest - now, 0) or -1
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
reaped = table.concat(reaped, '\n')
answer(sess, lane, seq, table.concat(lost, ' ') .. '|' .. table.concat(stored) .. '|' .. handed_over .. '|' .. reaped)
return {0, now, lost, claims, counters, next_due, rank, more, watched and 1 or 0, sweep_due, delivered, reaped}
