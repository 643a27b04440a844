-- suspend: takes running tasks off their slots, each under its fence, until a time or a signal. Where a signal that a
-- step waits for is queued already, the step is ready again at once.
-- KEYS: steps sess ghosts stats subs paused journals
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- KEYS per step: signals journal
-- ARGV: lane, seq = session; worker = worker id; wake = channel prefix; events = channel; partition;
--   detail = event details; nq, then nq queue names;
--   n, then per step: queue index, lane index (1-3), 'id:token', id, index (w waiting, r retrying, z snoozed),
--     due ('' never, '+ms' from now, or ms), body ('' leaves it), first = its journal may be new 0/1,
--     k, k x signal name, j, j x (field, value)
-- RETURNS: {0, now ms, {'suspended', 'ready', 'lost', 'cancelled' or 'different', ...}}
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
-- fence: which steps of a call are not held any more. fence marks each item of those with its reason, and returns
-- whether there are ghosts; an item that a ghost holds keeps its lease until let_go.
local function fence(items, nq, ghosts)
  local lists, owners, seen, missing = {}, {}, {}, {}
  for i = 1, #items do
    local item = items[i]
    local list = lists[item.q]
    if not list then
      list = {}
      lists[item.q] = list
    end
    if seen[item.member] then
      item.reason = 'lost'
    end
    seen[item.member] = true
    list[#list + 1] = item.member
    owners[i] = item.id
  end
  for q = 1, nq do
    if lists[q] then
      local held = redis.call('ZMSCORE', queue_key(q, LEASED), unpack(lists[q]))
      for k, member in ipairs(lists[q]) do
        missing[member] = not held[k]
      end
    end
  end
  local haunted = #items > 0 and redis.call('EXISTS', ghosts) == 1
  local marks = haunted and redis.call('HMGET', ghosts, unpack(owners)) or {}
  for i = 1, #items do
    local item = items[i]
    if missing[item.member] then
      item.reason = 'lost'
    elseif marks[i] and not item.reason then
      item.reason, item.mark = 'cancelled', string.sub(marks[i], 1, 1)
    end
  end
  return haunted
end

local function let_go(item, ghosts)
  local lease = redis.call('ZSCORE', queue_key(item.q, LEASED), item.member)
  redis.call('ZREM', queue_key(item.q, LEASED), item.member)
  if dispose(ghosts, item.q, item.id, item.mark, lease) then
    touched[item.q] = true
  end
end
-- journal: what a task has recorded. Fields that begin with r: are written once: journal_differs tells whether another
-- value stands there already. at is where the fields of a step begin in ARGV, each a name and a value.
local function journal_differs(journal, at, n)
  local names, values = {}, {}
  for i = at, at + 2 * n - 1, 2 do
    if string.sub(ARGV[i], 1, 2) == 'r:' then
      local k = #names + 1
      names[k], values[k] = ARGV[i], ARGV[i + 1]
    end
  end
  if #names == 0 then
    return false
  end
  local stored = redis.call('HMGET', journal, unpack(names))
  for k = 1, #names do
    if stored[k] and stored[k] ~= values[k] then
      return true
    end
  end
  return false
end

-- journal_write stores the fields; first tells that the journal may be new.
local function journal_write(journal, journals, id, first, now, at, n)
  if n > 0 then
    redis.call('HSET', journal, unpack(ARGV, at, at + 2 * n - 1))
  end
  if first then
    redis.call('ZADD', journals, 'NX', score(now), id)
  end
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
local steps, sess, ghosts, stats = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local subs, paused, journals = KEYS[5], KEYS[6], KEYS[7]
local lane, seq, worker, wake_channel, events = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local partition, detail, nq = ARGV[6], ARGV[7], tonumber(ARGV[8])
local INDEX = {w = WAITING, r = RETRYING, z = SNOOZED}
local VERB = {w = 'suspended', r = 'failed', z = 'snoozed'}

-- Guard.
local now = now_ms()
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local outcomes = {}
  for outcome in string.gmatch(replay, '%a+') do
    outcomes[#outcomes + 1] = outcome
  end
  return {0, now, outcomes}
end
if state ~= APPLY then
  return {state}
end
local items = {}
local cursor = 10 + nq
for i = 1, tonumber(ARGV[9 + nq]) do
  local names = tonumber(ARGV[cursor + 8])
  local fields = tonumber(ARGV[cursor + 9 + names])
  items[i] = {
    q = tonumber(ARGV[cursor]), back = tonumber(ARGV[cursor + 1]), member = ARGV[cursor + 2], id = ARGV[cursor + 3],
    index = ARGV[cursor + 4], due = ARGV[cursor + 5], body = cursor + 6, first = ARGV[cursor + 7] == '1',
    names = cursor + 9, n = names, fields = cursor + 10 + names, j = fields,
    signals = FIXED + nq * PER_QUEUE + 2 * i - 1, journal = FIXED + nq * PER_QUEUE + 2 * i,
  }
  cursor = cursor + 10 + names + 2 * fields
end
fence(items, nq, ghosts)
for i = 1, #items do
  local item = items[i]
  if not item.reason and journal_differs(KEYS[item.journal], item.fields, item.j) then
    item.reason = 'different'
  end
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local watched = redis.call('EXISTS', subs) == 1
local lines, outcomes, counts = {}, {}, {}

local function stand_in_line(item, name)
  local waiting = redis.call('HGET', KEYS[item.signals], 'gw:' .. name) or ''
  if not string.find(';' .. waiting, ';' .. item.id .. ' ', 1, true) then
    redis.call('HSET', KEYS[item.signals], 'gw:' .. name,
      waiting .. item.id .. ' ' .. ARGV[8 + item.q] .. ' ' .. item.back .. ';')
  end
end

local function suspend(item)
  redis.call('ZREM', queue_key(item.q, LEASED), item.member)
  if ARGV[item.body] ~= '' then
    redis.call('HSET', steps, item.id, ARGV[item.body])
  end
  journal_write(KEYS[item.journal], journals, item.id, item.first, now, item.fields, item.j)
  for k = item.names, item.names + item.n - 1 do
    if queued(KEYS[item.signals], ARGV[k]) then
      make_ready(item.q, item.back, item.id)
      return 'ready', 0
    end
  end
  for k = item.names, item.names + item.n - 1 do
    stand_in_line(item, ARGV[k])
  end
  local due = item.due == '' and START_LIMIT or due_at(item.due, now)
  delay(item.q, INDEX[item.index], item.back, item.id, due)
  return 'suspended', item.due ~= '' and due or 0
end

for i = 1, #items do
  local item = items[i]
  local verb, due = VERB[item.index], 0
  outcomes[i] = item.reason
  if item.mark then
    let_go(item, ghosts)
  elseif not item.reason then
    outcomes[i], due = suspend(item)
    counts[verb] = (counts[verb] or 0) + 1
    if watched then
      lines[#lines + 1] = verb .. ' ' .. ARGV[8 + item.q] .. ' ' .. item.id .. ' ' .. i - 1 .. ' ' .. score(due)
    end
  end
end
push_ready(nq)
for _, verb in ipairs({'suspended', 'failed', 'snoozed'}) do
  if counts[verb] then
    count(stats, now, verb, counts[verb])
  end
end
wake_touched(nq, 8, paused, wake_channel, partition, now)
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
answer(sess, lane, seq, table.concat(outcomes, ' '))
return {0, now, outcomes}
