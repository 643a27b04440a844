-- reschedule: gives a step that waits for its time another time, or makes it ready now. The times in a task's journal
-- that it waits for move along: what was recorded about a sleep, a timeout or a next try is replaced.
-- KEYS: steps sess subs paused waiters ready scheduled retrying snoozed waiting journal
-- ARGV: lane, seq = session; events = channel; wake = channel prefix; partition; queue; detail = event details;
--   id; lane index (0-2); due = ms, or '' for now; seen = the time in ms that it is expected to wait for, '' for any;
--   then per time in the journal: field, value as it was seen, new value
-- RETURNS: {0, now ms, state before: 'scheduled', 'retrying', 'snoozed', 'waiting', or why not: 'live', 'absent', or
--   'moved' when it waits for another time} or {status < 0} as enqueue
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
-- where: the state of one step, read from its one membership. Given a body, a step in no sorted index is
-- ready or running ('live'): ready and leased cannot be searched by id.
local function where(steps, id, indexes, names)
  for i = 1, #indexes do
    local member_score = redis.call('ZSCORE', indexes[i], id)
    if member_score then
      return names[i], member_score
    end
  end
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'absent'
  end
  return 'live'
end

local NAMES = {'scheduled', 'retrying', 'snoozed', 'waiting', 'completed', 'discarded', 'cancelled'}
local steps, sess, subs, paused, waiters, ready = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local indexes = {KEYS[7], KEYS[8], KEYS[9], KEYS[10]}
local journal = KEYS[11]
local lane, seq, events, wake_channel = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local partition, queue, detail, id, priority, due = ARGV[5], ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9]), ARGV[10]
local seen, TIMES = ARGV[11], 12

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  return {0, now_ms(), replay}
end
if state ~= APPLY then
  return {state}
end
local now = now_ms()
local found, was = where(steps, id, indexes, NAMES)
if was and seen ~= '' and math.floor(tonumber(was) / 16) ~= tonumber(seen) then
  found = 'moved'
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('ZREM', indexes[1], '')
for i = 1, #indexes do
  if found == NAMES[i] then
    local verb = 'promoted'
    if due == '' then
      redis.call('ZREM', indexes[i], id)
      redis.call('LPUSH', ready, id)
      due = 0
    else
      verb = 'rescheduled'
      due = math.min(tonumber(due), START_LIMIT)
      redis.call('ZADD', indexes[i], score(due * 16 + priority), id)
    end
    for t = TIMES, #ARGV, 3 do
      if redis.call('HGET', journal, ARGV[t]) == ARGV[t + 1] then
        redis.call('HSET', journal, ARGV[t], ARGV[t + 2])
      end
    end
    if redis.call('EXISTS', subs) == 1 then
      redis.call('PUBLISH', events,
        score(now) .. '\n' .. verb .. ' ' .. queue .. ' ' .. id .. ' 0 ' .. score(due) .. '\n\n' .. detail)
    end
    wake(waiters, paused, queue, wake_channel, partition, now)
  end
end
answer(sess, lane, seq, found)
return {0, now, found}
