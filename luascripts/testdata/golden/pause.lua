-- pause: stops or resumes the claims of a queue. A resume wakes one worker; claims wake the next.
-- KEYS: sess paused waiters
-- ARGV: lane, seq = session; queue; pause = 1, or 0 to resume; wake = channel prefix; partition
-- RETURNS: {0, now ms, 1 when it was paused before} or {status < 0} as enqueue
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
local sess, paused, waiters = KEYS[1], KEYS[2], KEYS[3]
local lane, seq, queue, pause = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local wake_channel, partition = ARGV[5], ARGV[6]

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  return {0, now_ms(), tonumber(replay)}
end
if state ~= APPLY then
  return {state}
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', paused, '')
local now = now_ms()
local was = redis.call('HEXISTS', paused, queue)
if pause then
  redis.call('HSETNX', paused, queue, score(now))
else
  redis.call('HDEL', paused, queue)
  wake(waiters, paused, queue, wake_channel, partition, now)
end
answer(sess, lane, seq, was)
return {0, now, was}
