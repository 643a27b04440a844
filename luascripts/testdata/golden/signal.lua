-- signal: sends a signal to a run, once for its key, and rouses the steps that wait for it in the queues that the call
-- has the keys of. Other queues are answered, and left to the sweep meanwhile. Sending counts as an enqueue: maxmemory
-- refuses it before anything is stored. Rousing goes on.
-- KEYS: steps sess stats paused sweep journals signals
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- ARGV: lane, seq = session; rouse = 1: send nothing; id = of the run; task = queue index of a single task, 0 for a run
--   of many steps; name; key = by which the signal is known if it is sent again, '' for none; payload;
--   max_bytes = limit of the payload; max_signals = that a run may have queued; wake = channel prefix; partition;
--   nq, then nq queue names
-- RETURNS: {0, now ms, 'accepted', 'duplicate', 'unknown', 'ended', 'full' or 'large', {queue still to rouse, ...}}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
local FIXED = 7
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
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
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
-- queues: the twelve keys that a call has for each of its queues, behind the FIXED ones of the script.
local PER_QUEUE = 12
local LEASED, SCHEDULED, RETRYING, SNOOZED, WAITING = 1, 2, 3, 4, 5
local COMPLETED, DISCARDED, CANCELLED = 6, 7, 8
local WAITERS, READY = 9, 9

local function queue_key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
end
-- place: puts steps into ready or a timed index. What becomes ready is collected and pushed at the end, one command a
-- list. touched are the queues that got work, or work that is due before all other: one idle worker each is woken.
local touched, pending = {}, {}

local function make_ready(q, lane_index, id)
  local lanes = pending[q] or {{}, {}, {}}
  pending[q] = lanes
  local list = lanes[lane_index]
  list[#list + 1] = id
end

local function delay(q, offset, lane_index, id, due)
  redis.call('ZADD', queue_key(q, offset), score(due * 16 + lane_index - 1), id)
  if redis.call('ZRANGE', queue_key(q, offset), 0, 0)[1] == id then
    touched[q] = true
  end
end

local function push_ready(nq)
  for q = 1, nq do
    local lanes = pending[q]
    if lanes then
      touched[q] = true
      for l = 1, 3 do
        if #lanes[l] > 0 then
          redis.call('LPUSH', queue_key(q, READY + l), unpack(lanes[l]))
        end
      end
    end
  end
end

local function wake_touched(nq, names, paused, channel, partition, now)
  for q = 1, nq do
    if touched[q] then
      wake(queue_key(q, WAITERS), paused, ARGV[names + q], channel, partition, now)
    end
  end
end

-- due_at reads a time: '' now, '+ms' from now, or ms.
local function due_at(text, now)
  if text == '' then
    return now
  end
  local from_now = string.match(text, '^%+(.*)$')
  return math.min(from_now and now + tonumber(from_now) or tonumber(text), START_LIMIT)
end
-- signals: what was sent to a run, in its hash (of a single task, its journal): gt:<name> and gh:<name> count what was
-- sent and what was taken, g:<name>:<n> is a payload, gn how many are queued in all, gw:<name> the steps that wait, as
-- 'id queue lane;'. queued tells whether there is a signal to take, and how many were taken.
local function queued(signals, name)
  local counts = redis.call('HMGET', signals, 'gt:' .. name, 'gh:' .. name)
  local head = tonumber(counts[2] or 0)
  return tonumber(counts[1] or 0) > head, head
end

-- leave_line takes a step off those that wait for a name.
local function leave_line(signals, name, id)
  local waiting = redis.call('HGET', signals, 'gw:' .. name)
  if not waiting then
    return
  end
  local line = ';' .. waiting
  local from = string.find(line, ';' .. id .. ' ', 1, true)
  if not from then
    return
  end
  local rest = string.sub(line, 2, from) .. string.sub(line, string.find(line, ';', from + 1, true) + 1)
  if rest == '' then
    redis.call('HDEL', signals, 'gw:' .. name)
  else
    redis.call('HSET', signals, 'gw:' .. name, rest)
  end
end
-- send: adds a signal to those of a run; lib/signals.lua says how they are kept. gk:<key> stands for a key by which one
-- was known; gc counts those and gi:<slot> has them in their order, so that the oldest is forgotten.
local KEYS_KEPT = 1000

-- refusal tells why a signal cannot be sent, nil when it can. task is the queue of a single task, 0 for a run of many
-- steps; more is how many the same call adds before it.
local function refusal(steps, signals, id, task, key, size, max_bytes, more, max_signals)
  local known = redis.call('HMGET', signals, 'gk:' .. key, 'gn', 'st')
  if known[1] then
    return 'duplicate'
  end
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'unknown'
  end
  if task == 0 then
    if known[3] ~= 'r' then
      return 'ended'
    end
  else
    for offset = COMPLETED, CANCELLED do
      if redis.call('ZSCORE', queue_key(task, offset), id) then
        return 'ended'
      end
    end
  end
  if size > max_bytes then
    return 'large'
  end
  if tonumber(known[2] or 0) + more >= max_signals then
    return 'full'
  end
  return nil
end

local function send(signals, journals, id, task, name, key, payload, now)
  local tail = redis.call('HINCRBY', signals, 'gt:' .. name, 1)
  redis.call('HSET', signals, 'g:' .. name .. ':' .. tail, payload)
  redis.call('HINCRBY', signals, 'gn', 1)
  if key ~= '' then
    local slot = 'gi:' .. redis.call('HINCRBY', signals, 'gc', 1) % KEYS_KEPT
    local oldest = redis.call('HGET', signals, slot)
    if oldest then
      redis.call('HDEL', signals, 'gk:' .. oldest)
    end
    redis.call('HSET', signals, slot, key, 'gk:' .. key, '1')
  end
  if task > 0 then
    redis.call('ZADD', journals, 'NX', score(now), id)
  end
end
local steps, sess, stats, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sweep, journals, signals = KEYS[5], KEYS[6], KEYS[7]
local lane, seq, only_rouse, id, task = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], tonumber(ARGV[5])
local name, known_by, payload = ARGV[6], ARGV[7], ARGV[8]
local max_bytes, max_signals = tonumber(ARGV[9]), tonumber(ARGV[10])
local wake_channel, partition, nq = ARGV[11], ARGV[12], tonumber(ARGV[13])
-- ROUSED is how many steps one call rouses at the most; the sweep has the others.
local ROUSED = 250

-- Guard.
local now = now_ms()
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local queues = {}
  local outcome, rest = string.match(replay, '^(%a+)(.*)$')
  for queue in string.gmatch(rest, '[^ ]+') do
    queues[#queues + 1] = queue
  end
  return {0, now, outcome, queues}
end
if state ~= APPLY then
  return {state}
end
local outcome
if not only_rouse then
  outcome = refusal(steps, signals, id, task, known_by, #payload, max_bytes, 0, max_signals)
end

-- Write. A signal comes first: it is what maxmemory refuses. Rousing begins with a write that needs no memory.
local others = {}

local function rouse()
  local item = 's ' .. id .. ' ' .. name
  redis.call('ZREM', sweep, item)
  local line = queued(signals, name) and redis.call('HGET', signals, 'gw:' .. name)
  if not line then
    return
  end
  local index_of, named, rest, roused = {}, {}, {}, 0
  for q = 1, nq do
    index_of[ARGV[13 + q]] = q
  end
  for waiter, queue, l in string.gmatch(line, '([^ ;]+) ([^ ]+) (%d);') do
    local q = index_of[queue]
    if q and roused < ROUSED then
      roused = roused + 1
      if redis.call('ZREM', queue_key(q, WAITING), waiter) == 1 then
        make_ready(q, tonumber(l), waiter)
      end
    else
      rest[#rest + 1] = waiter .. ' ' .. queue .. ' ' .. l .. ';'
      if not named[queue] then
        named[queue] = true
        others[#others + 1] = queue
      end
    end
  end
  if #rest == 0 then
    redis.call('HDEL', signals, 'gw:' .. name)
  else
    redis.call('HSET', signals, 'gw:' .. name, table.concat(rest))
    redis.call('ZADD', sweep, score(now), item)
  end
end

if not outcome then
  outcome = 'accepted'
  if not only_rouse then
    send(signals, journals, id, task, name, known_by, payload, now)
    count(stats, now, 'signalled', 1)
  end
  rouse()
end
push_ready(nq)
wake_touched(nq, 13, paused, wake_channel, partition, now)
answer(sess, lane, seq, outcome .. ' ' .. table.concat(others, ' '))
return {0, now, outcome, others}
