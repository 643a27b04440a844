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
-- clock: Redis' own time in whole milliseconds, the only clock that decides anything.
local function now_ms()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- score renders an index score exactly; '..' would lose digits past the 14th.
local function score(n)
  return string.format('%.0f', n)
end

-- START_LIMIT is the year 2150 in ms: ms*16+lane stays exact in a double up to there.
local START_LIMIT = 5680281600000
-- session: makes a call safe to send twice. A lane's field holds 'seq answer'. The next number
-- applies, the same number replays the stored answer, a lower one is a late original and is refused,
-- a higher one means that writes were lost in a failover and the lane is void.
local APPLY, REPLAY, NO_SESSION, STALE, GAP = 0, 1, -1, -2, -3

local function session(sess, lane, seq)
  local stored = redis.call('HGET', sess, lane)
  if not stored then
    return NO_SESSION
  end
  local sep = string.find(stored, ' ', 1, true)
  local last = tonumber(string.sub(stored, 1, sep - 1))
  if seq == last then
    return REPLAY, string.sub(stored, sep + 1)
  end
  if seq < last then
    return STALE
  end
  if seq > last + 1 then
    return GAP
  end
  return APPLY
end

local function answer(sess, lane, seq, text)
  redis.call('HSET', sess, lane, string.format('%.0f', seq) .. ' ' .. text)
end
-- wake: tells one idle worker that a queue has work. Newest registration first; when even the newest
-- has expired all of them have. A paused queue wakes nobody: its resume does.
local function wake(waiters, paused, queue, channel, partition, now)
  local newest = redis.call('ZRANGE', waiters, -1, -1, 'WITHSCORES')
  if not newest[1] then
    return
  end
  if tonumber(newest[2]) < now then
    redis.call('DEL', waiters)
    return
  end
  if redis.call('HEXISTS', paused, queue) == 1 then
    return
  end
  redis.call('ZREM', waiters, newest[1])
  redis.call('PUBLISH', channel .. newest[1], partition)
end
-- unique: frees the unique keys of steps that ended. uniqof has id -> mark..digest; the mark is 'u' (held
-- while unfinished, not started yet), 's' (the same, claimed at least once), 'd' (held for a duration: only an
-- operator who removes the step frees it before its time) or 'r' (of a request: it is there until its time).
local function free_unique(uniq, uniqof, ended, by_operator)
  local held = redis.call('HMGET', uniqof, unpack(ended))
  for i = 1, #ended do
    local mark = held[i] and string.sub(held[i], 1, 1) or 'r'
    if mark ~= 'r' and (by_operator or mark ~= 'd') then
      local digest = string.sub(held[i], 2)
      if redis.call('HGET', uniq, digest) == ended[i] then
        redis.call('HDEL', uniq, digest)
      end
      redis.call('HDEL', uniqof, ended[i])
    end
  end
end
-- tries: what others than the lease holder count for a step, as 'started unstarted interruptions limit
-- base': lost leases by whether the attempt had started, shutdown interruptions, the operator's absolute
-- attempt limit (0: none), and the lost leases that an operator's retry has forgiven.
local function read_tries(tries, id)
  local text = redis.call('HGET', tries, id)
  if not text then
    return 0, 0, 0, 0, 0
  end
  local s, u, i, l, b = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  return tonumber(s), tonumber(u), tonumber(i), tonumber(l), tonumber(b)
end

local function write_tries(tries, id, s, u, i, l, b)
  redis.call('HSET', tries, id, string.format('%d %d %d %d %d', s, u, i, l, b))
end

-- HISTORY_BYTES bounds the side history of one step; the oldest lines go first.
local HISTORY_BYTES = 4096

local function note(history, id, line)
  local text = (redis.call('HGET', history, id) or '') .. line .. '\n'
  while #text > HISTORY_BYTES do
    local cut = string.find(text, '\n', 1, true)
    if cut == #text then
      break
    end
    text = string.sub(text, cut + 1)
  end
  redis.call('HSET', history, id, text)
end
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
end
-- queues: the twelve keys that a call has for each of its queues, behind the FIXED ones of the script.
local PER_QUEUE = 12
local LEASED, SCHEDULED, RETRYING, SNOOZED, WAITING = 1, 2, 3, 4, 5
local COMPLETED, DISCARDED, CANCELLED = 6, 7, 8
local WAITERS, READY = 9, 9

local function queue_key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
end
-- dispose: ends a claim whose step was cancelled or revived meanwhile, and whose lease has been removed: the mark x drops
-- it, r makes it ready in the lane of its lease, of which lease is the score. It tells whether something became ready.
local function leased_lane(lease)
  return math.floor(lease % 16 / 2) + 1
end

local function dispose(ghosts, q, id, mark, lease)
  redis.call('HDEL', ghosts, id)
  if string.sub(mark, 1, 1) ~= 'r' then
    return false
  end
  redis.call('RPUSH', queue_key(q, READY + leased_lane(lease)), id)
  return true
end
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
-- counters: what others than the lease holder count for some steps, as lib/tries has it: {id, counters, ...} of those that
-- have any. It takes tries from the script.
local function counters_of(members)
  local counters = {}
  local found = redis.call('HMGET', tries, unpack(members))
  for i = 1, #members do
    if found[i] then
      counters[#counters + 1] = members[i]
      counters[#counters + 1] = found[i]
    end
  end
  return counters
end
-- delivery: what was handed over to a worker, by its record 'lane id token expiry queue', if its lease is still held; {}
-- if it is not. It takes the key of bodies, steps, and ghosts, nq and queue_name from the script.
local function delivery(text)
  local l, id, by, expiry, name = string.match(text, '^(%d) (%S+) (%S+) (%d+) (.*)$')
  for q = 1, nq do
    if queue_name(q) == name and redis.call('ZSCORE', queue_key(q, LEASED), id .. ':' .. by) and redis.call('HEXISTS', ghosts, id) == 0 then
      return {q, tonumber(l), id, by, tonumber(expiry), redis.call('HGET', steps, id)}
    end
  end
  return {}
end
-- retell: the answer of a turn that was applied before, out of what its session keeps of it: 'what was lost|claims|what was
-- handed over|leases that were taken back'. It takes steps, ghosts, tries, subs, token and now from the script.
local function retell(stored)
  local lost_part, claim_part, handed_part, reaped_part = string.match(stored, '^([^|]*)|([^|]*)|([^|]*)|?(.*)$')
  local lost, claims, members = {}, {}, {}
  for word in string.gmatch(lost_part, '[^ ]+') do
    lost[#lost + 1] = word
  end
  for q, l, list in string.gmatch(claim_part, '(%d+) (%d+)([^;]*);') do
    local ids, leased = {}, queue_key(tonumber(q), LEASED)
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
  local counters = #members > 0 and counters_of(members) or {}
  return {0, now, lost, claims, counters, 0, 0, 1, redis.call('EXISTS', subs), 0, delivery(handed_part), reaped_part}
end

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

-- fenced: the positions of a group of n settled steps that still hold their lease, or nil when all do; the others are noted
-- in lost. The group's members, each behind a 0, begin at ARGV[first], its ids behind them. The script has ghosts, has_ghosts
-- and lost. ZADD NX adds exactly the missing members, with score 0 that no lease has.
local function fenced(q, n, first)
  local leased = queue_key(q, LEASED)
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
      local lease = redis.call('ZSCORE', leased, member)
      redis.call('ZREM', leased, member)
      dispose(ghosts, q, id, marks[i], lease)
      lost[#lost + 1] = member
      lost[#lost + 1] = 'cancelled'
    else
      good[#good + 1] = i
    end
  end
  return good
end
-- apply: what each operation that settles a step writes of it. It applies to the i-th of a group of n; extra is where the
-- group's own arguments begin. What waits for its time returns it. The script has steps, tries, results, now and has_tries,
-- and delayed = the queues in which a step waits for its time from now on.
local apply = {}

function apply.k(q, i, id, extra, n)
  redis.call('ZADD', queue_key(q, COMPLETED), ARGV[extra + 2 * (i - 1)], id)
  redis.call('HSET', results, id, ARGV[extra + 2 * n + 2 * (i - 1) + 1])
end

local function retry_in(offset)
  return function(q, i, id, extra)
    local base = extra + 3 * (i - 1)
    local due = math.min(now + tonumber(ARGV[base]), START_LIMIT)
    redis.call('ZADD', queue_key(q, offset), score(due * 16 + tonumber(ARGV[base + 1]) - 1), id)
    redis.call('HSET', steps, id, ARGV[base + 2])
    delayed[q] = true
    return score(due)
  end
end
apply.r = retry_in(RETRYING)
apply.s = retry_in(SNOOZED)

function apply.d(q, i, id, extra)
  redis.call('ZADD', queue_key(q, DISCARDED), score(now), id)
  redis.call('HSET', steps, id, ARGV[extra + i - 1])
end

function apply.g(q, i, id, extra)
  redis.call('RPUSH', queue_key(q, READY + tonumber(ARGV[extra + i - 1])), id)
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
  redis.call('ZADD', queue_key(q, SCHEDULED), score(due * 16 + tonumber(ARGV[base + 1]) - 1), id)
  delayed[q] = true
  return score(due)
end
-- settle: ends the claims of a group of n steps of a queue by one operation of apply, and returns how many still held their
-- lease; first is where the group's members begin in ARGV. The script has steps, tries, history, uniq,
-- uniqof, what has_tries, has_history, has_unique and watched tell of them, and index = the steps settled before.

-- Arguments per step behind the ids, what is counted, and the event, of each operation.
local WIDTH = {c = 0, k = 4, r = 3, s = 3, d = 1, g = 1, i = 1, w = 2}
local VERB = {c = 'completed', k = 'completed', r = 'failed', s = 'snoozed', d = 'discarded',
  g = 'released', i = 'released', w = 'released'}
local TERMINAL = {c = true, k = true, d = true}

-- forget drops what is kept beside the bodies of steps that are gone for good.
local function forget(ids)
  if has_tries then
    redis.call('HDEL', tries, unpack(ids))
  end
  if has_history then
    redis.call('HDEL', history, unpack(ids))
  end
end

local function settle(q, op, n, first)
  local good = fenced(q, n, first)
  local ids_at, extra = first + 2 * n, first + 3 * n
  local ids
  if not good then
    redis.call('ZREM', queue_key(q, LEASED), unpack(ARGV, first, extra - n - 1))
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
      redis.call('ZREM', queue_key(q, LEASED), ARGV[first + 2 * i - 1])
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

-- Take back expired leases and promote what is due.
local due_limit = score(now * 16 + 15)
local more, reaped = 0, {}

-- reap: takes back up to most leases of a queue that have expired, and returns how many those were. Nothing is decided here: the counters go out with the next claim.
-- The script has its tables and what has_tries and has_history tell of them, some_handed and handed, now, due_limit,
-- delayed, watched, and reaped = the lines of the events.
local function reap(q, _, most)
  local leased = queue_key(q, LEASED)
  local expired = redis.call('ZRANGEBYSCORE', leased, '-inf', due_limit, 'WITHSCORES', 'LIMIT', 0, most)
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
      dispose(ghosts, q, id, mark, member_score)
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
        redis.call('RPUSH', queue_key(q, READY + leased_lane(member_score)), id)
      else
        due = now + 1000 * 2 ^ math.min(losses, 12)
        redis.call('ZADD', queue_key(q, RETRYING), score(due * 16 + leased_lane(member_score) - 1), id)
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
  return #expired / 2
end
-- promote: makes up to most steps of a timed index ready whose time has come, each in its lane, and returns how many those
-- were. The script has due_limit.
local function promote(q, offset, most)
  local index_key = queue_key(q, offset)
  local due = redis.call('ZRANGEBYSCORE', index_key, '-inf', due_limit, 'WITHSCORES', 'LIMIT', 0, most)
  local n = #due / 2
  if n == 0 then
    return 0
  end
  local lanes = {{}, {}, {}}
  for i = 1, #due, 2 do
    local list = lanes[tonumber(due[i + 1]) % 16 + 1]
    list[#list + 1] = due[i]
  end
  redis.call('ZREMRANGEBYRANK', index_key, 0, n - 1)
  for l = 1, 3 do
    if #lanes[l] > 0 then
      redis.call('LPUSH', queue_key(q, READY + l), unpack(lanes[l]))
    end
  end
  return n
end
-- serve: does what is due in an index and returns when the next member is, in ms. An index takes three quarters of what is
-- left of the budget at the most, so that a flood in one does not keep the next ones waiting. The script has now, PAD that
-- is no member, budget, and more = 1 when there is more to do.
local function upcoming(q, offset)
  local first = redis.call('ZRANGE', queue_key(q, offset), 0, 0, 'WITHSCORES')
  if not first[1] or first[1] == PAD then
    return math.huge
  end
  return math.floor(tonumber(first[2]) / 16)
end

local function serve(q, offset, duty)
  local at = upcoming(q, offset)
  if at > now then
    return at
  end
  local most = math.ceil(budget * 3 / 4)
  local done = duty(q, offset, most)
  budget = budget - done
  if done == most then
    more = 1
  end
  return upcoming(q, offset)
end

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
-- claim: puts ready steps of a lane under a lease, as many as it may have and there is room for. The script has its tables
-- and what has_ghosts, some_paused and watched tell of them, token, lease_ms, now, PAD, wanted = steps to claim in all,
-- room = of each queue, more = 1 when there is more to do; claims, members, stored and claimed = how many say what was claimed.
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
  return bodies
end

-- lease puts the leases of claimed steps next to PAD, and notes the steps.
local function lease(q, l, ids)
  local n, adds, expiry = #ids, {}, score((now + lease_ms) * 16 + (l - 1) * 2)
  for i = 1, n do
    adds[2 * i - 1] = expiry
    adds[2 * i] = ids[i] .. stem
    members[claimed + i] = ids[i]
  end
  adds[2 * n + 1] = '+inf'
  adds[2 * n + 2] = PAD
  redis.call('ZADD', queue_key(q, LEASED), unpack(adds))
  claimed = claimed + n
  room[q] = room[q] - n
end

local function claim(q, l, limit)
  local want = math.min(limit, wanted - claimed, room[q])
  local ids = want > 0 and not (some_paused and redis.call('HEXISTS', paused, queue_name(q)) == 1)
    and redis.call('RPOP', queue_key(q, READY + l), want)
  if not ids then
    return
  end
  local bodies = take(ids)
  if #ids == 0 then
    return
  end
  lease(q, l, ids)
  local names = table.concat(ids, ' ')
  claims[#claims + 1] = {q, l, names, bodies}
  stored[#stored + 1] = q .. ' ' .. l .. ' ' .. names .. ';'
  if watched then
    for i = 1, #ids do
      event('claimed', q, ids[i], '-', 0)
    end
  end
end

-- begin_holding marks the unique keys of claimed steps: from now on no enqueue replaces the body.
local function begin_holding(ids)
  local held = redis.call('HMGET', uniqof, unpack(ids))
  for i = 1, #ids do
    if held[i] and string.sub(held[i], 1, 1) == 'u' then
      redis.call('HSET', uniqof, ids[i], 's' .. string.sub(held[i], 2))
    end
  end
end

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
-- line: the workers that wait for a queue's work. line is how many they are. The script has room, delayed, offers, paused,
-- worker, wait_ms, wake_channel, partition, now; rank = most workers in front of this one, in_line = it stands in some line.

-- wake_peer wakes another for what is left. A worker without room will not look when a step that it has delayed is due: a
-- peer has to know of it.
local function wake_peer(q, line)
  if line > 0 and (delayed[q] and room[q] <= 0
    or redis.call('EXISTS', queue_key(q, READY + 1), queue_key(q, READY + 2), queue_key(q, READY + 3)) > 0) then
    wake(queue_key(q, WAITERS), paused, queue_name(q), wake_channel, partition, now)
  end
end

local function stand_in_line(q, line)
  if line > 0 then -- Those who died in line are in front of nobody.
    local dead = redis.call('ZRANGEBYSCORE', queue_key(q, WAITERS), '-inf', '(' .. score(now), 'LIMIT', 0, 100)
    if #dead > 0 then
      line = line - redis.call('ZREM', queue_key(q, WAITERS), unpack(dead))
      redis.call('HDEL', offers, unpack(dead))
    end
  end
  rank = math.max(rank, line)
  redis.call('ZADD', queue_key(q, WAITERS), score(now + wait_ms), worker)
  in_line = true
end

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
