-- enqueue: stores the bodies of new steps and puts each into ready or scheduled, all or nothing but for
-- unique conflicts, which are answered per item. Wakes one idle worker per queue that got work. A step that comes alone,
-- to a queue without other work, is handed over to a worker that has offered a slot: leased and sent to it at once.
-- Never begins with a harmless write: at maxmemory it must be refused before anything is stored.
-- KEYS: steps sess uniq uniqof uniqx ids subs stats paused offers handed
-- KEYS per queue: leased scheduled waiters ready_h ready_d ready_l
-- The ids come from a block that an earlier call on the same lane was given. A write that is lost takes the
-- lane's number along, so a block is never written twice; what could be handed out twice is looked at once a block.
-- ARGV: lane, seq = session; block = ids wanted for later calls; max_bytes = limit of one body;
--   wake = channel prefix; events = channel; partition; detail = event details;
--   nq, then nq queue names;
--   ngroups, then per group of plain ready steps: queue index, lane index (1-3), n, n x (id, body), n x id;
--   nitems, then per item: queue index, lane index, id, due ('' now, '+ms' from now, or ms), body,
--   digest ('' none), conflict rule (0 existing, 1 reject, 2 replace, 3 existing, of a request), scope (0 while
--   unfinished, or ms)
-- RETURNS: {0, now ms, first id of the block or 0, {item index, holder id, replaced 0/1, ...}}
--   or {status < 0}: -1 no session, -2 stale, -3 gap, -4 ids lost, -5 body too large
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
-- holder: who holds a unique key. holder_of returns the id, or where nobody does nil and who still stands there:
-- the key's time has passed, or its holder is gone without having freed it.
local function holder_of(uniq, uniqx, steps, digest, now)
  local id = redis.call('HGET', uniq, digest)
  if not id then
    return nil, nil
  end
  local ends = redis.call('ZSCORE', uniqx, digest)
  if ends and tonumber(ends) <= now or not ends and redis.call('HEXISTS', steps, id) == 0 then
    return nil, id
  end
  return id, nil
end

-- hold_key gives a key to an id, in place of a former one that still stands there, with a mark as lib/unique has them:
-- until a time in ms, or while the id is unfinished.
local function hold_key(uniq, uniqof, uniqx, digest, id, mark, ends, former)
  if former then
    redis.call('HDEL', uniqof, former)
  end
  redis.call('HSET', uniq, digest, id)
  redis.call('HSET', uniqof, id, mark .. digest)
  if ends then
    redis.call('ZADD', uniqx, score(ends), digest)
  else
    redis.call('ZREM', uniqx, digest)
  end
end
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
end
-- ids: whoever deletes the counter of ids or sets it back would have ids handed out again. ids_lost looks at it against
-- what was ever enqueued, a run of many steps counting once, and against what is stored.
local function ids_lost(ids, steps, stats)
  local last = tonumber(redis.call('GET', ids) or 0)
  local used = tonumber(redis.call('HGET', stats, 'total:enqueued') or 0)
  return last < used or last == 0 and redis.call('EXISTS', steps) == 1
end
local FIXED, PER_QUEUE = 11, 6
local IDS_LOST, TOO_LARGE = -4, -5
local steps, sess, uniq, uniqof, uniqx = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ids, subs, stats, paused, offers, handed = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local lane, seq, block, max_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local wake_channel, events, partition, detail, nq = ARGV[5], ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local names = 9 -- the queues' names come behind
local LEASED, SCHEDULED, WAITERS, READY = 1, 2, 3, 3

local function queue_key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
end

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local refused = tonumber(replay)
  if refused then
    return {refused}
  end
  local first, conflicts = string.match(replay, '^(%d+)|(.*)$')
  local list = {}
  for index, holder, replaced in string.gmatch(conflicts, '(%d+)=([^=;]+)=(%d);') do
    list[#list + 1] = tonumber(index)
    list[#list + 1] = holder
    list[#list + 1] = tonumber(replaced)
  end
  return {0, now_ms(), tonumber(first), list}
end
if state ~= APPLY then
  return {state}
end

-- refuse answers for good: a late original of this call must not be applied after all.
local function refuse(status)
  answer(sess, lane, seq, status)
  return {status}
end

local at = names + nq + 1
local ngroups = tonumber(ARGV[at])
local cursor = at + 1
for _ = 1, ngroups do
  local n = tonumber(ARGV[cursor + 2])
  local first = cursor + 3
  for i = first + 1, first + 2 * n - 1, 2 do
    if #ARGV[i] > max_bytes then
      return refuse(TOO_LARGE)
    end
  end
  cursor = first + 3 * n
end
local nitems = tonumber(ARGV[cursor])
local items = cursor + 1
for i = 0, nitems - 1 do
  if #ARGV[items + 8 * i + 4] > max_bytes then
    return refuse(TOO_LARGE)
  end
end
if block > 0 and ids_lost(ids, steps, stats) then
  return refuse(IDS_LOST)
end
local now = now_ms()

-- Write: bodies first, since HSET is what maxmemory refuses.
local touched, lines, index, added = {}, {}, 0, 0
local listened = nq ~= 1 or redis.call('EXISTS', subs, queue_key(1, WAITERS)) > 0
local watched = listened and redis.call('EXISTS', subs) == 1

local function event(verb, q, id, due)
  lines[#lines + 1] = verb .. ' ' .. ARGV[names + q] .. ' ' .. id .. ' ' .. index .. ' ' .. due
end

cursor = at + 1
for _ = 1, ngroups do
  local n, first = tonumber(ARGV[cursor + 2]), cursor + 3
  redis.call('HSET', steps, unpack(ARGV, first, first + 2 * n - 1))
  added = added + n
  cursor = first + 3 * n
end

-- hand_over: leases a step to an idle worker and sends it there; false when there is none. The worker asks with its next turn
-- for what it has not heard. The script has offers, handed, paused, wake_channel, events, partition, detail, now, watched,
-- event, and names = where the queues' names begin.

-- HAND_OVER_BYTES bounds a body that is sent to the worker, PAD keeps the lease set out of its O(n) compact encoding.
local HAND_OVER_BYTES, PAD = 16384, string.rep('.', 65)

-- taker returns the worker that came last to the line of a queue, if it offers a slot, can hear of it, and nothing else is
-- ready; and its offer, 'token lease-ms'.
local function taker(q)
  local newest = redis.call('ZRANGE', queue_key(q, WAITERS), -1, -1, 'WITHSCORES')
  if not newest[1] then
    return nil
  end
  if tonumber(newest[2]) < now then
    redis.call('DEL', offers)
    return nil
  end
  local offer = redis.call('HGET', offers, newest[1])
  if not offer or redis.call('HEXISTS', paused, ARGV[names + q]) == 1
    or redis.call('EXISTS', queue_key(q, READY + 1), queue_key(q, READY + 2), queue_key(q, READY + 3)) > 0
    or redis.call('PUBLISH', wake_channel .. newest[1], '') == 0 then
    return nil
  end
  return newest[1], offer
end

local function hand_over(q, l, id, body)
  local worker, offer = taker(q)
  if not worker then
    return false
  end
  local token, lease_ms = string.match(offer, '^(%S+) (%d+)$')
  local expiry = now + tonumber(lease_ms)
  local text = l .. ' ' .. id .. ' ' .. token .. ' ' .. score(expiry) .. ' ' .. ARGV[names + q]
  redis.call('ZREM', queue_key(q, WAITERS), worker)
  redis.call('HDEL', offers, worker)
  redis.call('ZADD', queue_key(q, LEASED), score(expiry * 16 + (l - 1) * 2), id .. ':' .. token, '+inf', PAD)
  redis.call('HSET', handed, worker, text)
  redis.call('PUBLISH', wake_channel .. worker, partition .. ' ' .. text .. '\n' .. body)
  if watched then
    event('enqueued', q, id, 0)
    redis.call('PUBLISH', events, score(now) .. '\n' .. lines[1] .. '\n\n' .. detail)
    redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\nclaimed ' .. ARGV[names + q] .. ' ' .. id .. ' 0 0\n\n' .. detail)
    lines = {}
  end
  return true
end

cursor = at + 1
for _ = 1, ngroups do
  local q, l, n = tonumber(ARGV[cursor]), tonumber(ARGV[cursor + 1]), tonumber(ARGV[cursor + 2])
  local first = cursor + 3
  local alone = n == 1 and ngroups == 1 and nitems == 0 and listened and #ARGV[first + 1] <= HAND_OVER_BYTES
  if not (alone and hand_over(q, l, ARGV[first], ARGV[first + 1])) then
    redis.call('LPUSH', queue_key(q, READY + l), unpack(ARGV, first + 2 * n, first + 3 * n - 1))
    touched[q] = true
    if watched then
      for i = first + 2 * n, first + 3 * n - 1 do
        event('enqueued', q, ARGV[i], 0)
        index = index + 1
      end
    end
  end
  cursor = first + 3 * n
end

local conflicts, stored = {}, {}

local function conflict(i, holder, replaced)
  conflicts[#conflicts + 1] = i
  conflicts[#conflicts + 1] = holder
  conflicts[#conflicts + 1] = replaced
  stored[#stored + 1] = i .. '=' .. holder .. '=' .. replaced .. ';'
end

-- replace: swaps the body of a holder that has not started; false when it cannot. A holder that is ready stays ready: it
-- starts with the new body, whatever delay came with it. The script has steps, uniqof, now, and touched = the queues that
-- got work.

-- place puts an id into the index that its due time asks for.
local function place(q, l, id, due)
  if due > now then
    local member_score = score(math.min(due, START_LIMIT) * 16 + l - 1)
    redis.call('ZADD', queue_key(q, SCHEDULED), member_score, id)
    if redis.call('ZRANGE', queue_key(q, SCHEDULED), 0, 0)[1] == id then
      touched[q] = true
    end
    return
  end
  redis.call('LPUSH', queue_key(q, READY + l), id)
  touched[q] = true
end

local function replace(q, l, holder, due, body)
  local mark = redis.call('HGET', uniqof, holder)
  if not mark or string.sub(mark, 1, 1) ~= 'u' then
    return false
  end
  redis.call('HSET', steps, holder, body)
  if redis.call('ZREM', queue_key(q, SCHEDULED), holder) == 1 then
    place(q, l, holder, due)
  end
  return true
end

for i = 0, nitems - 1 do
  local base = items + 8 * i
  local q, l, id = tonumber(ARGV[base]), tonumber(ARGV[base + 1]), ARGV[base + 2]
  local due, body, digest = ARGV[base + 3], ARGV[base + 4], ARGV[base + 5]
  local rule, scope = ARGV[base + 6], tonumber(ARGV[base + 7])
  if due == '' then
    due = now
  elseif string.sub(due, 1, 1) == '+' then
    due = now + tonumber(string.sub(due, 2))
  else
    due = tonumber(due)
  end
  local holder, former
  if digest ~= '' then
    holder, former = holder_of(uniq, uniqx, steps, digest, now)
  end
  if holder then
    if rule == '2' and replace(q, l, holder, due, body) then
      conflict(i + 1, holder, 1)
    else
      conflict(i + 1, holder, 0)
    end
  else
    redis.call('HSET', steps, id, body)
    added = added + 1
    if digest ~= '' then
      local mark = scope == 0 and 'u' or rule == '3' and 'r' or 'd'
      hold_key(uniq, uniqof, uniqx, digest, id, mark, scope > 0 and now + scope, former)
    end
    place(q, l, id, due)
    if watched then
      event('enqueued', q, id, due > now and score(due) or 0)
    end
  end
  index = index + 1
end

local first = 0
if block > 0 then
  first = redis.call('INCRBY', ids, block) - block + 1
end
if added > 0 then
  count(stats, now, 'enqueued', added)
end
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
if listened then
  for q in pairs(touched) do
    wake(queue_key(q, WAITERS), paused, ARGV[names + q], wake_channel, partition, now)
  end
end
answer(sess, lane, seq, string.format('%.0f', first) .. '|' .. table.concat(stored))
return {0, now, first, conflicts}
