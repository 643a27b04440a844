-- turn: settles finished attempts, takes back expired leases, promotes due steps and claims ready ones:
-- a worker's whole loop turn for one partition in one round trip.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs paused sweep offers handed
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- ARGV: lane, seq = session; worker = worker id; token = of this claim; lease_ms; wait_ms = life of a new
--   registration among the waiters (0: do not register); wanted = steps to claim in all;
--   max_reap, max_promote = ids per queue; wake = channel prefix; events = channel; partition; detail = event details;
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
--@include clock
--@include session
--@include wake
--@include unique
--@include tries
--@include stats
local FIXED, PER_QUEUE = 14, 12
local LEASED, SCHEDULED, RETRYING, SNOOZED, WAITING, COMPLETED, DISCARDED, CANCELLED = 1, 2, 3, 4, 5, 6, 7, 8
local WAITERS, READY = 9, 9
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, paused, sweep = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local offers, handed = KEYS[13], KEYS[14]
local lane, seq, worker, token = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local lease_ms, wait_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
local wanted, max_reap, max_promote = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local wake_channel, events, partition, detail = ARGV[10], ARGV[11], ARGV[12], ARGV[13]
local offer, got, nq = ARGV[14] == '1', ARGV[15], tonumber(ARGV[16])
local NAMES = 16 -- the queues' names come behind
-- PAD keeps the lease set out of its O(n) compact encoding; it sorts behind every lease.
local PAD = string.rep('.', 65)

local function key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
end

local function queue_name(q)
  return ARGV[NAMES + q]
end

-- delivery is what was handed over, by its record 'lane id token expiry queue', if its lease is still held.
local function delivery(text)
  local l, id, by, expiry, name = string.match(text, '^(%d) (%S+) (%S+) (%d+) (.*)$')
  for q = 1, nq do
    if queue_name(q) == name and redis.call('ZSCORE', key(q, LEASED), id .. ':' .. by) and redis.call('HEXISTS', ghosts, id) == 0 then
      return {q, tonumber(l), id, by, tonumber(expiry), redis.call('HGET', steps, id)}
    end
  end
  return {}
end

-- Guard.
local now = now_ms()
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local lost_part, claim_part, handed_part, reaped_part = string.match(replay, '^([^|]*)|([^|]*)|([^|]*)|?(.*)$')
  local lost, claims, members = {}, {}, {}
  for word in string.gmatch(lost_part, '[^ ]+') do
    lost[#lost + 1] = word
  end
  for q, l, list in string.gmatch(claim_part, '(%d+) (%d+)([^;]*);') do
    local ids, leased = {}, key(tonumber(q), LEASED)
    for id in string.gmatch(list, '[^ ]+') do
      -- What was lost or cancelled since is not told again: no handler may start for it.
      if redis.call('ZSCORE', leased, id .. ':' .. token) and redis.call('HEXISTS', ghosts, id) == 0 then
        ids[#ids + 1] = id
        members[#members + 1] = id
      end
    end
    if #ids > 0 then
      claims[#claims + 1] = {tonumber(q), tonumber(l), table.concat(ids, ' '), redis.call('HMGET', steps, unpack(ids))}
    end
  end
  local counters = {}
  if #members > 0 then
    local found = redis.call('HMGET', tries, unpack(members))
    for i = 1, #members do
      if found[i] then
        counters[#counters + 1] = members[i]
        counters[#counters + 1] = found[i]
      end
    end
  end
  return {0, now, lost, claims, counters, 0, 0, 1, redis.call('EXISTS', subs), 0, delivery(handed_part), reaped_part}
end
if state ~= APPLY then
  return {state}
end

-- Write. A worker that asks is no longer waiting. This first write needs no memory, which lets the rest run at
-- maxmemory: the backlog drains.
redis.call('ZREM', key(1, WAITERS), worker)
for q = 2, nq do
  redis.call('ZREM', key(q, WAITERS), worker)
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

-- forget drops what is kept beside the bodies of steps that are gone for good.
local function forget(ids)
  if has_tries then
    redis.call('HDEL', tries, unpack(ids))
  end
  if has_history then
    redis.call('HDEL', history, unpack(ids))
  end
end

local nclaims_at = NAMES + 1 + 2 * nq
local nclaims = tonumber(ARGV[nclaims_at])
local cursor = nclaims_at + 3 * nclaims + 1
local ngroups = tonumber(ARGV[cursor])
cursor = cursor + 1
local lost = {}
local delayed = {} -- queues in which a step waits for its time from now on

-- dispose ends a claim whose step was cancelled or revived meanwhile: x drops it, r makes it ready.
local function dispose(q, id, mark, lane_index)
  redis.call('HDEL', ghosts, id)
  if string.sub(mark, 1, 1) == 'r' then
    redis.call('RPUSH', key(q, READY + lane_index), id)
  end
end

local function leased_lane(member_score)
  return math.floor(member_score % 16 / 2) + 1
end

-- fenced returns the positions of a group that still hold their lease, or nil when all do; the
-- others are noted in lost. ZADD NX adds exactly the missing members, with score 0 that no lease has.
local function fenced(q, n, first)
  local leased = key(q, LEASED)
  local missing = {}
  local bad = false
  if redis.call('ZADD', leased, 'NX', unpack(ARGV, first, first + 2 * n - 1)) > 0 then
    local names = redis.call('ZRANGEBYSCORE', leased, 0, 0)
    redis.call('ZREM', leased, unpack(names))
    for i = 1, #names do
      missing[names[i]] = true
    end
    bad = true
  end
  local marks
  if has_ghosts then
    marks = redis.call('HMGET', ghosts, unpack(ARGV, first + 2 * n, first + 3 * n - 1))
    for i = 1, n do
      bad = bad or marks[i]
    end
  end
  if not bad then
    return nil
  end
  local good = {}
  for i = 1, n do
    local member, id = ARGV[first + 2 * i - 1], ARGV[first + 2 * n + i - 1]
    if missing[member] then
      lost[#lost + 1] = member
      lost[#lost + 1] = 'lost'
    elseif marks and marks[i] then
      local member_score = tonumber(redis.call('ZSCORE', leased, member))
      redis.call('ZREM', leased, member)
      dispose(q, id, marks[i], leased_lane(member_score))
      lost[#lost + 1] = member
      lost[#lost + 1] = 'cancelled'
    else
      good[#good + 1] = i
    end
  end
  return good
end

-- Each operation applies to the i-th step of a group; extra is where the group's own arguments begin.
local apply = {}

function apply.k(q, i, id, extra, n)
  redis.call('ZADD', key(q, COMPLETED), ARGV[extra + 2 * (i - 1)], id)
  redis.call('HSET', results, id, ARGV[extra + 2 * n + 2 * (i - 1) + 1])
end

local function retry_in(offset)
  return function(q, i, id, extra)
    local base = extra + 3 * (i - 1)
    local due = math.min(now + tonumber(ARGV[base]), START_LIMIT)
    redis.call('ZADD', key(q, offset), score(due * 16 + tonumber(ARGV[base + 1]) - 1), id)
    redis.call('HSET', steps, id, ARGV[base + 2])
    delayed[q] = true
    return score(due)
  end
end
apply.r = retry_in(RETRYING)
apply.s = retry_in(SNOOZED)

function apply.d(q, i, id, extra)
  redis.call('ZADD', key(q, DISCARDED), score(now), id)
  redis.call('HSET', steps, id, ARGV[extra + i - 1])
end

function apply.g(q, i, id, extra)
  redis.call('RPUSH', key(q, READY + tonumber(ARGV[extra + i - 1])), id)
end

function apply.i(q, i, id, extra)
  local s, u, interrupted, l, b = read_tries(tries, id)
  write_tries(tries, id, s, u, interrupted + 1, l, b)
  has_tries = true
  apply.g(q, i, id, extra)
end

function apply.w(q, i, id, extra)
  local base = extra + 2 * (i - 1)
  local due = math.min(now + tonumber(ARGV[base]), START_LIMIT)
  redis.call('ZADD', key(q, SCHEDULED), score(due * 16 + tonumber(ARGV[base + 1]) - 1), id)
  delayed[q] = true
  return score(due)
end

-- Arguments per step behind the ids, what is counted, and the event, of each operation.
local WIDTH = {c = 0, k = 4, r = 3, s = 3, d = 1, g = 1, i = 1, w = 2}
local VERB = {c = 'completed', k = 'completed', r = 'failed', s = 'snoozed', d = 'discarded',
  g = 'released', i = 'released', w = 'released'}
local TERMINAL = {c = true, k = true, d = true}

local function settle(q, op, n, first)
  local good = fenced(q, n, first)
  local ids_at, extra = first + 2 * n, first + 3 * n
  local ids
  if not good then
    redis.call('ZREM', key(q, LEASED), unpack(ARGV, first, extra - n - 1))
    if op == 'c' and not (watched or has_unique or has_tries or has_history) then
      redis.call('HDEL', steps, unpack(ARGV, ids_at, extra - 1))
      return n
    end
    good = {}
    for i = 1, n do
      good[i] = i
    end
  elseif #good == 0 then
    return 0
  else
    for _, i in ipairs(good) do
      redis.call('ZREM', key(q, LEASED), ARGV[first + 2 * i - 1])
    end
  end
  ids = {}
  for k, i in ipairs(good) do
    ids[k] = ARGV[ids_at + i - 1]
  end
  if TERMINAL[op] and has_unique then
    free_unique(uniq, uniqof, ids)
  end
  if op == 'c' then
    redis.call('HDEL', steps, unpack(ids))
    forget(ids)
  end
  for k, i in ipairs(good) do
    local due = op ~= 'c' and apply[op](q, i, ids[k], extra, n)
    if watched then
      event(VERB[op], q, ids[k], index + i - 1, due or 0)
    end
  end
  return #good
end

for _ = 1, ngroups do
  local q, op, n = tonumber(ARGV[cursor]), ARGV[cursor + 1], tonumber(ARGV[cursor + 2])
  local done = settle(q, op, n, cursor + 3)
  if done > 0 then
    count(stats, now, VERB[op], done)
  end
  index = index + n
  cursor = cursor + 3 + (3 + WIDTH[op]) * n
end

-- Take back expired leases. Nothing is decided here: the counters go out with the next claim.
local due_limit = score(now * 16 + 15)
local more, reaped = 0, {}

local function reap(q)
  local leased = key(q, LEASED)
  local expired = redis.call('ZRANGEBYSCORE', leased, '-inf', due_limit, 'WITHSCORES', 'LIMIT', 0, max_reap)
  local taken = 0
  for i = 1, #expired, 2 do
    local member, member_score = expired[i], tonumber(expired[i + 1])
    local id, held_by = string.match(member, '^(.*):(.*)$')
    local mark = redis.call('HGET', ghosts, id)
    redis.call('ZREM', leased, member)
    if some_handed then -- A worker that died does not ask for it any more.
      local holder = string.match(held_by, '^[^.]*')
      if string.find(redis.call('HGET', handed, holder) or '', ' ' .. held_by .. ' ', 1, true) then
        redis.call('HDEL', handed, holder)
      end
    end
    if mark then
      dispose(q, id, mark, leased_lane(member_score))
    elseif redis.call('HEXISTS', steps, id) == 1 then
      taken = taken + 1
      local started = member_score % 2 == 1
      local s, u, interrupted, limit, base = read_tries(tries, id)
      if started then
        s = s + 1
      else
        u = u + 1
      end
      write_tries(tries, id, s, u, interrupted, limit, base)
      note(history, id, string.format('%.0f lost %s %s', now, started and 'started' or 'unstarted', held_by))
      has_tries, has_history = true, true
      -- From the second loss on the step waits longer and longer, so that a payload that kills its
      -- workers does not take the same neighbours along each time.
      local losses, due = s + u - base, 0
      if losses < 2 then
        redis.call('RPUSH', key(q, READY + leased_lane(member_score)), id)
      else
        due = now + 1000 * 2 ^ math.min(losses, 12)
        redis.call('ZADD', key(q, RETRYING), score(due * 16 + leased_lane(member_score) - 1), id)
        delayed[q] = true
      end
      event('lost', q, id, '-', score(due) .. ' ' .. held_by)
      reaped[#reaped + 1] = lines[#lines]
      if not watched then
        lines[#lines] = nil
      end
    end
  end
  if taken > 0 then
    count(stats, now, 'lost', taken)
  end
  if #expired == 2 * max_reap then
    more = 1
  end
end

local function promote(q, offset)
  local index_key = key(q, offset)
  local due = redis.call('ZRANGEBYSCORE', index_key, '-inf', due_limit, 'WITHSCORES', 'LIMIT', 0, max_promote)
  local n = #due / 2
  if n == 0 then
    return
  end
  local lanes = {{}, {}, {}}
  for i = 1, #due, 2 do
    local list = lanes[tonumber(due[i + 1]) % 16 + 1]
    list[#list + 1] = due[i]
  end
  redis.call('ZREMRANGEBYRANK', index_key, 0, n - 1)
  for l = 1, 3 do
    if #lanes[l] > 0 then
      redis.call('LPUSH', key(q, READY + l), unpack(lanes[l]))
    end
  end
  if n == max_promote then
    more = 1
  end
end

-- upcoming is when the first member of an index is due, in ms.
local function upcoming(q, offset)
  local first = redis.call('ZRANGE', key(q, offset), 0, 0, 'WITHSCORES')
  if not first[1] or first[1] == PAD then
    return math.huge
  end
  return math.floor(tonumber(first[2]) / 16)
end

-- serve does what is due in an index and returns when the next member is.
local function serve(q, offset, duty)
  local at = upcoming(q, offset)
  if at > now then
    return at
  end
  duty(q, offset)
  return upcoming(q, offset)
end

local soonest = math.huge
for q = 1, nq do
  soonest = math.min(soonest, serve(q, LEASED, reap))
  if redis.call('EXISTS', key(q, SCHEDULED), key(q, RETRYING), key(q, SNOOZED), key(q, WAITING)) > 0 then
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
local stem = ':' .. token

-- take drops the ids that a ghost or a missing body makes void; behind them there may be others.
local function take(ids)
  local bodies = redis.call('HMGET', steps, unpack(ids))
  local marks = has_ghosts and redis.call('HMGET', ghosts, unpack(ids)) or {}
  local popped = #ids
  for i = popped, 1, -1 do
    if marks[i] then
      redis.call('HDEL', ghosts, ids[i])
    end
    if not bodies[i] or marks[i] and string.sub(marks[i], 1, 1) == 'x' then
      table.remove(ids, i)
      table.remove(bodies, i)
    end
  end
  if #ids < popped then
    more = 1
  end
  return ids, bodies
end

for c = 0, nclaims - 1 do
  local base = nclaims_at + 1 + 3 * c
  local q, l = tonumber(ARGV[base]), tonumber(ARGV[base + 1])
  local want = math.min(tonumber(ARGV[base + 2]), wanted - claimed, room[q])
  local ids = want > 0 and not (some_paused and redis.call('HEXISTS', paused, queue_name(q)) == 1)
    and redis.call('RPOP', key(q, READY + l), want)
  if ids then
    local bodies
    ids, bodies = take(ids)
    local n = #ids
    if n > 0 then
      local expiry = score((now + lease_ms) * 16 + (l - 1) * 2)
      local adds = {}
      for i = 1, n do
        adds[2 * i - 1] = expiry
        adds[2 * i] = ids[i] .. stem
        members[claimed + i] = ids[i]
      end
      adds[2 * n + 1] = '+inf'
      adds[2 * n + 2] = PAD
      redis.call('ZADD', key(q, LEASED), unpack(adds))
      local names = table.concat(ids, ' ')
      claims[#claims + 1] = {q, l, names, bodies}
      stored[#stored + 1] = q .. ' ' .. l .. ' ' .. names .. ';'
      claimed = claimed + n
      room[q] = room[q] - n
      if watched then
        for i = 1, n do
          event('claimed', q, ids[i], '-', 0)
        end
      end
    end
  end
end
local counters = {}
if claimed > 0 then
  if has_tries then
    local found = redis.call('HMGET', tries, unpack(members))
    for i = 1, claimed do
      if found[i] then
        counters[#counters + 1] = members[i]
        counters[#counters + 1] = found[i]
      end
    end
  end
  if has_unique then
    local held = redis.call('HMGET', uniqof, unpack(members))
    for i = 1, claimed do
      if held[i] and string.sub(held[i], 1, 1) == 'u' then
        redis.call('HSET', uniqof, members[i], 's' .. string.sub(held[i], 2))
      end
    end
  end
end
if (wanted > 0 or delivered[1]) and claimed >= wanted then
  more = 1
end

-- Wake a peer for what is left, or stand in line. A worker without room will not look when a step that it
-- has delayed is due: a peer has to know of it.
local rank, in_line = 0, false
for q = 1, nq do
  local line = redis.call('ZCARD', key(q, WAITERS))
  if line > 0 and (delayed[q] and room[q] <= 0
    or redis.call('EXISTS', key(q, READY + 1), key(q, READY + 2), key(q, READY + 3)) > 0) then
    wake(key(q, WAITERS), paused, queue_name(q), wake_channel, partition, now)
  end
  if wait_ms > 0 and more == 0 and room[q] > 0 then
    if line > 0 then -- Those who died in line are in front of nobody.
      local dead = redis.call('ZRANGEBYSCORE', key(q, WAITERS), '-inf', '(' .. score(now), 'LIMIT', 0, 100)
      if #dead > 0 then
        line = line - redis.call('ZREM', key(q, WAITERS), unpack(dead))
        redis.call('HDEL', offers, unpack(dead))
      end
    end
    rank = math.max(rank, line)
    redis.call('ZADD', key(q, WAITERS), score(now + wait_ms), worker)
    in_line = true
  end
end
if in_line and rank == 0 then -- Nobody else is in line: other offers are of workers that died.
  redis.call('DEL', offers)
end
if in_line and offer and wanted > claimed then
  redis.call('HSET', offers, worker, token .. ' ' .. ARGV[5])
end
if claimed > 0 or delivered[1] then
  soonest = math.min(soonest, now + lease_ms)
end
local next_due = soonest < math.huge and math.max(soonest - now, 0) or -1
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
reaped = table.concat(reaped, '\n')
answer(sess, lane, seq, table.concat(lost, ' ') .. '|' .. table.concat(stored) .. '|' .. handed_over .. '|' .. reaped)
return {0, now, lost, claims, counters, next_due, rank, more, watched and 1 or 0, sweep_due, delivered, reaped}
