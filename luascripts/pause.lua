-- pause: stops or resumes the claims of a queue. A resume wakes one worker; claims wake the next.
-- KEYS: sess paused waiters
-- ARGV: lane, seq = session; queue; pause = 1, or 0 to resume; wake = channel prefix; partition
-- RETURNS: {0, now ms, 1 when it was paused before} or {status < 0} as enqueue
--@include clock
--@include session
--@include wake
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
